//! [`End`]: how a call ends, and [`Done`]: the final report of a successful agent.

use serde::{Deserialize, Serialize};

use crate::{
    Failure, File, ITEM_OVERHEAD, Json, Offer,
    weight::{json_weight, text_weight},
};

/// The state in which an agent leaves its task at the end of its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum DoneState {
    /// The work is done.
    #[default]
    Completed,
    /// The agent waits for another message of the same task.
    InputRequired,
    /// The agent refuses the work.
    Rejected,
}

impl DoneState {
    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::InputRequired => "input_required",
            Self::Rejected => "rejected",
        }
    }
}

/// The final report of an agent that finished its reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Done {
    /// The state in which the agent leaves the task.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub state: DoneState,
    /// Whether the agent waits for credentials, if the state is `input_required`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_auth: bool,
    /// The whole answer, from agents that repeat it at the end or give it only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub result: Option<String>,
    /// Files that the agent produced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<File>,
    /// The cost of the answer, in the agent's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub usage: Option<Json>,
    /// The reason why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub stop_reason: Option<String>,
    /// An archive of files that the caller may fetch from the agent, as the agent wrote the offer: see
    /// `/v1/agents/{id}/transfers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub file_transfer_offer: Option<Json>,
    /// Whether the answer is a message rather than finished work. Callers whose protocol distinguishes the
    /// two get a message instead of a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub is_message: bool,
}

impl Done {
    /// Returns the archive [`Offer`] of the agent, if it can be parsed.
    pub fn offer(&self) -> Option<Offer> {
        Offer::read(self.file_transfer_offer.as_ref()?.get())
    }

    /// Returns the size of the report in bytes.
    pub fn weight(&self) -> usize {
        let files: usize = self.attachments.iter().map(File::weight).sum();
        let texts = text_weight(&self.result) + text_weight(&self.stop_reason);
        texts + files + json_weight(&self.usage) + json_weight(&self.file_transfer_offer)
    }
}

/// The end of a call. A call ends exactly once.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The agent finished.
    Done(Box<Done>),
    /// The call failed.
    Failed(Failure),
    /// The call was cancelled.
    Cancelled,
}

impl End {
    /// Returns the size of the end in bytes.
    pub fn weight(&self) -> usize {
        let said = match self {
            Self::Done(done) => done.weight(),
            Self::Failed(failure) => failure.reason.name().len() + failure.text.len(),
            Self::Cancelled => 0,
        };
        ITEM_OVERHEAD + said
    }

    /// Returns a completed end with an empty [`Done`].
    pub fn done() -> Self {
        Self::Done(Box::default())
    }

    /// Returns a label for metrics and logs.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(failure) => failure.reason.label(),
            Self::Cancelled => "cancelled",
        }
    }
}
