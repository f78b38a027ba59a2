//! Questions of an agent and their answers.

use serde_json::Value;

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
    pub(crate) answer: tokio::sync::oneshot::Sender<Heard>,
}

/// An answer as it came.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) approved: Option<bool>,
    pub(crate) reason: Option<String>,
}
