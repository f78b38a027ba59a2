//! [`DriverOutput`], a driver's output to the caller, and its approval requests to the owner.

use std::{fmt, pin::Pin, sync::Arc};

use jackfield_sdk::{AgentFailure, CallerAnswer, CallerQuestion, Reply, ReplyError};
use serde_json::Value;

use crate::OutputItem;

/// The owner's decision on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerDecision {
    /// Whether the agent may use the tool.
    pub approved: bool,
    /// Reason for a refusal, if given.
    pub reason: Option<String>,
}

/// Future of an owner's [`OwnerDecision`].
pub(crate) type DecisionFuture =
    Pin<Box<dyn Future<Output = Result<OwnerDecision, ReplyError>> + Send>>;
/// Callback that asks the owner: the reply, the tool, its arguments.
pub(crate) type AskOwner = Arc<dyn Fn(Reply, String, Value) -> DecisionFuture + Send + Sync>;
/// Callback that stores the agent's own id of the conversation.
pub(crate) type StoreSession = Arc<dyn Fn(&str) + Send + Sync>;

/// A driver's output. Each send waits while too much earlier output is undelivered.
#[derive(Clone)]
pub struct DriverOutput {
    reply: Reply,
    owner: AskOwner,
    keeper: StoreSession,
}

impl fmt::Debug for DriverOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

impl DriverOutput {
    pub(crate) fn new(reply: Reply, owner: AskOwner, keeper: StoreSession) -> Self {
        Self {
            reply,
            owner,
            keeper,
        }
    }

    /// Sends a [`OutputItem`] item.
    pub async fn send(&self, said: OutputItem) -> Result<(), AgentFailure> {
        let reply = &self.reply;
        let heard = match said {
            OutputItem::Text(text) => reply.text(text).await,
            OutputItem::Thinking(text) => reply.thinking(text).await,
            OutputItem::Status(text) => reply.status(text).await,
            OutputItem::ToolStart { name, id } => reply.tool_start(&name, &id).await,
            OutputItem::ToolInput { id, text } => reply.tool_input(&id, text).await,
            OutputItem::ToolResult { id, text } => reply.tool_result(&id, text).await,
            OutputItem::Session(native) => {
                (self.keeper)(&native);
                Ok(())
            }
            OutputItem::Usage(usage) => {
                reply.usage(usage);
                Ok(())
            }
            OutputItem::StopReason(reason) => {
                reply.stop_reason(reason);
                Ok(())
            }
        };
        heard.map_err(|error| reply_failure(&error))
    }

    /// Asks the agent's owner for permission to use a tool and waits for the [`OwnerDecision`].
    pub async fn approve(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<OwnerDecision, AgentFailure> {
        let deciding = (self.owner)(self.reply.clone(), tool.to_owned(), arguments);
        deciding.await.map_err(|error| reply_failure(&error))
    }

    /// Asks the caller a [`CallerQuestion`] and waits for the [`CallerAnswer`].
    pub async fn ask(
        &self,
        question: impl Into<CallerQuestion> + Send,
    ) -> Result<CallerAnswer, AgentFailure> {
        let answer = self.reply.ask(question).await;
        answer.map_err(|error| reply_failure(&error))
    }

    /// Returns the agent's end of the call, for output that only some agents have: files, questions to the
    /// caller.
    pub fn reply(&self) -> &Reply {
        &self.reply
    }
}

/// Converts the error of a call that has ended, or of output that the hub does not support.
pub(crate) fn reply_failure(error: &ReplyError) -> AgentFailure {
    AgentFailure::new("internal_error", error.to_string())
}
