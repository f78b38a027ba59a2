//! Questions of an agent and their answers.

use jackfield_model as model;
use tokio::sync::oneshot;

use super::reply::ReplyError;
use crate::{Ask, Json, Part};

/// A question to the caller; a text is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(crate) text: String,
    pub(crate) schema: Option<Json>,
}

impl Question {
    /// A question in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            schema: None,
        }
    }

    /// Sets the JSON schema of the wanted answer.
    pub fn schema(mut self, schema: impl Into<Json>) -> Self {
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
    /// The text; may be empty.
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
        let answer = self.asked.answer().await?;
        Ok(Approval {
            approved: answer.approved.unwrap_or(false),
            reason: answer.reason,
        })
    }
}

/// A question that was put and waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) answer: oneshot::Receiver<model::Answer>,
}

impl Pending {
    pub(super) async fn answer(self) -> Result<model::Answer, ReplyError> {
        self.answer.await.map_err(|_| ReplyError::Over)
    }
}

/// A question on its way to whoever answers it.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) ask: Ask,
    /// Where the handler waits for the answer.
    pub(crate) answer: oneshot::Sender<model::Answer>,
}
