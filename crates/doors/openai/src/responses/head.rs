//! [`ResponseHead`]: what a request said of its response besides the input. It is stored with the message or the answer
//! of the request, so that a response can be told from the log of its task alone.

use jackfield_model::{Answer, Json, Message};
use serde::{Deserialize, Serialize};

/// What a request said of its response.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseHead {
    /// Model as the client named it.
    pub(crate) model: String,
    /// Start of the response, as in its id.
    pub(crate) start: u64,
    /// Time of the request, in seconds since 1970.
    pub(crate) created_at: i64,
    pub(crate) background: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
    /// The client's own metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
}

/// The `extra` of a message. No agent gets it, because no agent speaks this protocol.
#[derive(Debug, Serialize, Deserialize)]
struct Extra {
    openai_response: ResponseHead,
}

impl ResponseHead {
    /// Adds the head to a message.
    pub(crate) fn put_on(&self, message: &mut Message) {
        let extra = Extra {
            openai_response: self.clone(),
        };
        message.extra = Json::of(&extra).ok();
    }

    /// Reads the head of a message.
    pub(crate) fn of_message(message: &Message) -> Option<Self> {
        Self::read(message.extra.as_ref()?)
    }

    /// Reads the head of an answer.
    pub(crate) fn of_answer(answer: &Answer) -> Option<Self> {
        Self::read(answer.extra.as_ref()?)
    }

    fn read(extra: &Json) -> Option<Self> {
        let extra: Extra = serde_json::from_str(extra.get()).ok()?;
        Some(extra.openai_response)
    }
}
