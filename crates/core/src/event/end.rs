//! How a call ends, and what an agent says when it is done.

use serde::{Deserialize, Serialize};

use super::{File, ITEM_OVERHEAD, Json, json_len, len};
use crate::{failure::Failure, pipe::Ending};

/// How a finished turn leaves its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneState {
    /// The work is done.
    #[default]
    Completed,
    /// The agent waits for another message of the same task.
    InputRequired,
    /// The agent will not do it.
    Rejected,
}

/// What an agent says when it is done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Done {
    /// How the turn leaves its task.
    #[serde(default)]
    pub state: DoneState,
    /// The whole answer, from agents that repeat it at the end (or give it only there).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Files it made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<File>,
    /// What the answer cost, in the agent's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Files that the caller may fetch from the agent itself, as the bridge's agents offer them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_transfer_offer: Option<Json>,
    /// Whether the answer is a word in passing rather than work that was done: callers whose protocol can tell the
    /// two apart get a message, not a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_message: bool,
    /// Whether what the agent waits for are credentials, with [`DoneState::InputRequired`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_auth: bool,
}

impl Done {
    pub(crate) fn weight(&self) -> usize {
        let files: usize = self.attachments.iter().map(File::weight).sum();
        let texts = len(&self.result) + len(&self.stop_reason);
        texts + files + json_len(&self.usage) + json_len(&self.file_transfer_offer)
    }
}

/// How a call ends, exactly once.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The agent finished.
    Done(Box<Done>),
    /// Something went wrong.
    Failed(Failure),
    /// Somebody cancelled.
    Cancelled,
}

impl Ending for End {
    fn weight(&self) -> usize {
        let said = match self {
            Self::Done(done) => done.weight(),
            Self::Failed(failure) => failure.reason.name().len() + failure.text.len(),
            Self::Cancelled => 0,
        };
        ITEM_OVERHEAD + said
    }
}

impl End {
    /// Plainly done.
    pub fn done() -> Self {
        Self::Done(Box::default())
    }

    /// A label for metrics and logs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(failure) => failure.reason.label(),
            Self::Cancelled => "cancelled",
        }
    }
}
