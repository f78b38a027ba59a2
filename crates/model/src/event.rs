//! What an agent says while it works.

use serde::Serialize;

use crate::{Artifact, Ask, Chunk, Failure, ITEM_OVERHEAD, Reason, id::MAX_PEER_ID};

/// What an agent says while it works.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A piece of the reply.
    Chunk(Chunk),
    /// A result besides the text.
    Artifact(Artifact),
    /// A question.
    Ask(Ask),
}

impl Event {
    /// A piece of the answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Chunk(Chunk::text(text))
    }

    /// The name of the event's kind, as the log stores it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Chunk(_) => "chunk",
            Self::Artifact(_) => "artifact",
            Self::Ask(_) => "ask",
        }
    }

    /// The event's body as JSON, as the log stores it.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Chunk(chunk) => serde_json::to_string(chunk),
            Self::Artifact(artifact) => serde_json::to_string(artifact),
            Self::Ask(ask) => serde_json::to_string(ask),
        }
    }

    /// Reads an event back from its [kind](Self::kind) and its [body](Self::body).
    pub fn from_log(kind: &str, body: &str) -> Result<Self, serde_json::Error> {
        match kind {
            "chunk" => serde_json::from_str(body).map(Self::Chunk),
            "artifact" => serde_json::from_str(body).map(Self::Artifact),
            "ask" => serde_json::from_str(body).map(Self::Ask),
            other => Err(serde::de::Error::custom(format!(
                "unknown kind of event {other:?}"
            ))),
        }
    }

    /// The event without the fields that only the agent's own protocol can read, for everybody else.
    pub fn without_extra(mut self) -> Self {
        match &mut self {
            Self::Chunk(chunk) => chunk.extra = None,
            Self::Artifact(artifact) => artifact.extra = None,
            Self::Ask(_) => {}
        }
        self
    }

    /// Refuses an artifact or a question whose id is too long: the id is stored with every piece and repeated in every
    /// frame.
    pub fn check_id(&self) -> Result<(), Failure> {
        let (field, id) = match self {
            Self::Chunk(_) => return Ok(()),
            Self::Artifact(artifact) => ("artifact_id", &artifact.id),
            Self::Ask(ask) => ("ask_id", &ask.id),
        };
        if id.len() <= MAX_PEER_ID {
            return Ok(());
        }
        let text =
            format!("field \"{field}\" of what the agent said has more than {MAX_PEER_ID} bytes");
        Err(Failure::new(Reason::TooLarge, text))
    }

    /// By how much the event advances a cursor: text by its bytes, anything else by 1.
    pub fn advance(&self) -> u64 {
        match self {
            Self::Chunk(chunk) if chunk.joins(chunk) && !chunk.text.is_empty() => {
                chunk.text.len() as u64
            }
            _ => 1,
        }
    }

    /// The size of the event in bytes.
    pub fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(chunk) => chunk.weight(),
                Self::Artifact(artifact) => artifact.weight(),
                Self::Ask(ask) => ask.weight(),
            }
    }

    /// Appends `next` to this event, or gives it back if the two must stay apart.
    pub fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Chunk(last), Self::Chunk(next)) if last.joins(&next) => {
                last.text.push_str(&next.text);
                None
            }
            (_, next) => Some(next),
        }
    }
}
