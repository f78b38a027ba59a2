//! Questions of an agent and their answers.

use jackfield_model as model;
use tokio::sync::oneshot;

use super::reply::ReplyError;
use crate::{Ask, Json, Part};

/// A question to the caller. A string converts into a question.
#[derive(Debug, Clone, PartialEq)]
pub struct CallerQuestion {
    pub(crate) text: String,
    pub(crate) schema: Option<Json>,
}

impl CallerQuestion {
    /// Creates a question with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            schema: None,
        }
    }

    /// Sets the JSON schema of the expected answer.
    pub fn schema(mut self, schema: impl Into<Json>) -> Self {
        self.schema = Some(schema.into());
        self
    }
}

impl<T: Into<String>> From<T> for CallerQuestion {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// The caller's answer to a [`CallerQuestion`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CallerAnswer {
    /// Text of the answer; may be empty.
    pub text: String,
    /// Files and data of the answer.
    pub parts: Vec<Part>,
}

/// Decision of the agent's owner on a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ToolApproval {
    /// Whether the agent may use the tool.
    pub approved: bool,
    /// Reason for the decision.
    pub reason: Option<String>,
}

/// An open approval question to the agent's owner. Dropping it discards the decision.
#[derive(Debug)]
pub struct PendingApproval {
    asked: PendingAnswer,
}

impl PendingApproval {
    pub(super) fn new(asked: PendingAnswer) -> Self {
        Self { asked }
    }

    /// Returns the id of the question within its call. An answer names this id.
    pub fn ask_id(&self) -> &str {
        &self.asked.id
    }

    /// Waits for the decision.
    pub async fn decided(self) -> Result<ToolApproval, ReplyError> {
        let answer = self.asked.answer().await?;
        Ok(ToolApproval {
            approved: answer.approved.unwrap_or(false),
            reason: answer.reason,
        })
    }
}

/// A question that was sent and waits for its answer.
#[derive(Debug)]
pub(super) struct PendingAnswer {
    pub(super) id: String,
    pub(super) answer: oneshot::Receiver<model::Answer>,
}

impl PendingAnswer {
    pub(super) async fn answer(self) -> Result<model::Answer, ReplyError> {
        self.answer.await.map_err(|_| ReplyError::Over)
    }
}

/// A question on its way to the caller or owner.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) ask: Ask,
    /// Sender for the answer; the handler waits at the receiver.
    pub(crate) answer: oneshot::Sender<model::Answer>,
}
