//! [`Voice`], a driver's output to the caller, and its approval requests to the owner.

use std::{fmt, pin::Pin, sync::Arc};

use jackfield_sdk::{Answer, Failure, Question, Reply, ReplyError};
use serde_json::Value;

use crate::Said;

/// The owner's decision on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the agent may use the tool.
    pub approved: bool,
    /// Reason for a refusal, if given.
    pub reason: Option<String>,
}

/// Future of an owner's [`Decision`].
pub(crate) type Deciding = Pin<Box<dyn Future<Output = Result<Decision, ReplyError>> + Send>>;
/// Callback that asks the owner: the reply, the tool, its arguments.
pub(crate) type Owner = Arc<dyn Fn(Reply, String, Value) -> Deciding + Send + Sync>;
/// Callback that stores the agent's own id of the conversation.
pub(crate) type Keeper = Arc<dyn Fn(&str) + Send + Sync>;

/// A driver's output. Each send waits while too much earlier output is undelivered.
#[derive(Clone)]
pub struct Voice {
    reply: Reply,
    owner: Owner,
    keeper: Keeper,
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

impl Voice {
    pub(crate) fn new(reply: Reply, owner: Owner, keeper: Keeper) -> Self {
        Self {
            reply,
            owner,
            keeper,
        }
    }

    /// Sends a [`Said`] item.
    pub async fn say(&self, said: Said) -> Result<(), Failure> {
        let reply = &self.reply;
        let heard = match said {
            Said::Text(text) => reply.text(text).await,
            Said::Thinking(text) => reply.thinking(text).await,
            Said::Status(text) => reply.status(text).await,
            Said::ToolStart { name, id } => reply.tool_start(&name, &id).await,
            Said::ToolInput { id, text } => reply.tool_input(&id, text).await,
            Said::ToolResult { id, text } => reply.tool_result(&id, text).await,
            Said::Session(native) => {
                (self.keeper)(&native);
                Ok(())
            }
            Said::Usage(usage) => {
                reply.usage(usage);
                Ok(())
            }
            Said::StopReason(reason) => {
                reply.stop_reason(reason);
                Ok(())
            }
        };
        heard.map_err(|error| unheard(&error))
    }

    /// Asks the agent's owner for permission to use a tool and waits for the [`Decision`].
    pub async fn approve(&self, tool: &str, arguments: Value) -> Result<Decision, Failure> {
        let deciding = (self.owner)(self.reply.clone(), tool.to_owned(), arguments);
        deciding.await.map_err(|error| unheard(&error))
    }

    /// Asks the caller a [`Question`] and waits for the [`Answer`].
    pub async fn ask(&self, question: impl Into<Question> + Send) -> Result<Answer, Failure> {
        let answer = self.reply.ask(question).await;
        answer.map_err(|error| unheard(&error))
    }

    /// Returns the agent's end of the call, for output that only some agents have: files, questions to the
    /// caller.
    pub fn reply(&self) -> &Reply {
        &self.reply
    }
}

/// Converts the error of a call that has ended, or of output that the hub does not support.
pub(crate) fn unheard(error: &ReplyError) -> Failure {
    Failure::new("internal_error", error.to_string())
}
