//! What comes back from a call.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::RawEvent;
use crate::{Error, FileOffer};

/// Where an agent offers files at the end.
pub(crate) const OFFER: &str = "file_transfer_offer";

/// What the hub says first of a call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Started {
    /// The call.
    #[serde(alias = "call")]
    pub id: String,
    /// The conversation.
    #[serde(default)]
    pub session: String,
    /// The task, if the call is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A piece of a reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chunk {
    /// `text`, `thinking`, `tool_start`, `tool_input`, `tool_result` or `status`.
    #[serde(default = "text_kind")]
    pub kind: String,
    /// The words.
    #[serde(default)]
    pub text: String,
    /// The tool, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The tool call, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

fn text_kind() -> String {
    "text".to_owned()
}

/// How a call ended well.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Done {
    /// `completed`, `input_required` or `rejected`.
    #[serde(default)]
    pub state: String,
    /// The whole answer, from agents that give it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What else the agent said at the end.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Done {
    /// The archive that the agent offers, if it does and it can be read; see [`Hub::transfer`](crate::Hub::transfer).
    pub fn offer(&self) -> Option<FileOffer> {
        FileOffer::deserialize(self.rest.get(OFFER)?).ok()
    }
}

/// What comes back from a call.
#[derive(Debug, Clone)]
pub enum Event {
    /// The call is open.
    Started(Started),
    /// A piece of the reply.
    Chunk(Chunk),
    /// Something the agent made.
    Artifact(Value),
    /// A question; answer it with [`CallStream::answer`](crate::CallStream::answer).
    Ask(Value),
    /// Something is no longer there: the reader was away too long.
    Gap,
    /// The agent is done.
    Done(Done),
}

impl RawEvent {
    /// What it means; nothing for what a newer hub may say. A failed or cancelled call is an error.
    pub fn read(self) -> Result<Option<Event>, Error> {
        Ok(Some(match self.name.as_str() {
            "call" => Event::Started(parse(self.data)?),
            "chunk" => Event::Chunk(parse(self.data)?),
            "artifact" => Event::Artifact(self.data),
            "ask" => Event::Ask(self.data),
            "gap" => Event::Gap,
            "done" => Event::Done(parse(self.data)?),
            "cancelled" => return Err(Error::Cancelled),
            "failed" => {
                let text = |key: &str| self.data[key].as_str().unwrap_or_default().to_owned();
                return Err(Error::Failed {
                    code: text("error"),
                    message: text("message"),
                });
            }
            _ => return Ok(None),
        }))
    }

    /// Whether the hub ends the stream because it stops, and not the call: that has an id.
    pub(super) fn is_hub_stopping(&self) -> bool {
        self.name == "failed" && self.id.is_none() && self.data["error"] == "stopping"
    }
}

pub(super) fn parse<T: DeserializeOwned>(data: Value) -> Result<T, Error> {
    serde_json::from_value(data).map_err(|error| Error::Unreadable(error.to_string()))
}
