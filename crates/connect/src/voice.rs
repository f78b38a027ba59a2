//! How a driver speaks to the caller, and asks the owner.

use std::{fmt, pin::Pin, sync::Arc};

use jackfield_sdk::{Answer, Failure, Question, Reply, ReplyError};
use serde_json::Value;

use crate::Said;

/// What the owner decided about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the agent may.
    pub approved: bool,
    /// Why not, if they said.
    pub reason: Option<String>,
}

/// Whoever decides for the owner.
pub(crate) type Deciding = Pin<Box<dyn Future<Output = Result<Decision, ReplyError>> + Send>>;
/// Asks the owner: the reply, the tool, its arguments.
pub(crate) type Owner = Arc<dyn Fn(Reply, String, Value) -> Deciding + Send + Sync>;
/// Keeps what the agent calls the conversation.
pub(crate) type Keeper = Arc<dyn Fn(&str) + Send + Sync>;

/// How a driver speaks. Each word waits while what was said before does not arrive.
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

    /// Says something.
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

    /// Asks the owner of the agent whether it may use a tool, and waits for the decision.
    pub async fn approve(&self, tool: &str, arguments: Value) -> Result<Decision, Failure> {
        let deciding = (self.owner)(self.reply.clone(), tool.to_owned(), arguments);
        deciding.await.map_err(|error| unheard(&error))
    }

    /// Asks the caller, and waits for the answer.
    pub async fn ask(&self, question: impl Into<Question> + Send) -> Result<Answer, Failure> {
        let answer = self.reply.ask(question).await;
        answer.map_err(|error| unheard(&error))
    }

    /// The agent's end of the call, for what only some agents can: files, questions to the caller.
    pub fn reply(&self) -> &Reply {
        &self.reply
    }
}

/// Nobody listens any more, or the hub cannot carry it.
pub(crate) fn unheard(error: &ReplyError) -> Failure {
    Failure::new("internal_error", error.to_string())
}
