//! Questions of an agent and their answers.

use serde_json::Value;
use tokio::sync::oneshot;

use super::reply::ReplyError;
use crate::Part;

/// A question to the caller; a text is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(crate) text: String,
    pub(crate) schema: Option<Value>,
}

impl Question {
    /// A question in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            schema: None,
        }
    }

    /// The JSON schema of the wanted answer.
    pub fn schema(mut self, schema: impl Into<Value>) -> Self {
        self.schema = Some(schema.into());
        self
    }
}

impl<T: Into<String>> From<T> for Question {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// What the caller answered.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Answer {
    /// The words; may be empty.
    pub text: String,
    /// Files and data.
    pub parts: Vec<Part>,
}

/// What the owner of the agent decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Approval {
    /// Whether the agent may.
    pub approved: bool,
    /// Why.
    pub reason: Option<String>,
}

/// A question to the owner of the agent that waits for its decision. Dropping it means that nobody waits any more.
#[derive(Debug)]
pub struct PendingApproval {
    asked: Pending,
}

impl PendingApproval {
    pub(super) fn new(asked: Pending) -> Self {
        Self { asked }
    }

    /// What the question is called in its call: what an answer has to name.
    pub fn ask_id(&self) -> &str {
        &self.asked.id
    }

    /// Waits for the decision.
    pub async fn decided(self) -> Result<Approval, ReplyError> {
        let heard = self.asked.heard().await?;
        Ok(Approval {
            approved: heard.approved.unwrap_or(false),
            reason: heard.reason,
        })
    }
}

/// A question that was put and waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) heard: oneshot::Receiver<Heard>,
}

impl Pending {
    pub(super) async fn heard(self) -> Result<Heard, ReplyError> {
        self.heard.await.map_err(|_| ReplyError::Over)
    }
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskKind {
    /// The caller.
    Input,
    /// The owner of the agent.
    Approval,
}

/// A question on its way.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) kind: AskKind,
    pub(crate) text: String,
    pub(crate) tool_name: Option<String>,
    pub(crate) arguments: Option<Value>,
    pub(crate) schema: Option<Value>,
    /// Where the answer is awaited.
    pub(crate) answer: oneshot::Sender<Heard>,
}

/// An answer as it came.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) approved: Option<bool>,
    pub(crate) reason: Option<String>,
}
