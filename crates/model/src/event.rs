//! [`Event`]: a piece of an agent's reply.

use serde::Serialize;

use crate::{Artifact, Ask, Chunk, Failure, ITEM_OVERHEAD, Reason, id::MAX_PEER_ID};

/// A piece of an agent's reply, sent while the agent works.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A piece of text, reasoning, tool call or status.
    Chunk(Chunk),
    /// A result besides the text.
    Artifact(Artifact),
    /// A question.
    Ask(Ask),
}

impl Event {
    /// Creates a [`Chunk`] of the answer's text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Chunk(Chunk::text(text))
    }

    /// Returns the name of the event's kind, as stored in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Chunk(_) => "chunk",
            Self::Artifact(_) => "artifact",
            Self::Ask(_) => "ask",
        }
    }

    /// Returns the body of the event as JSON, as stored in the log.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Chunk(chunk) => serde_json::to_string(chunk),
            Self::Artifact(artifact) => serde_json::to_string(artifact),
            Self::Ask(ask) => serde_json::to_string(ask),
        }
    }

    /// Parses an event from its [kind](Self::kind) and its [body](Self::body).
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

    /// Returns the event without the `extra` fields, which only the agent's own protocol understands.
    pub fn without_extra(mut self) -> Self {
        match &mut self {
            Self::Chunk(chunk) => chunk.extra = None,
            Self::Artifact(artifact) => artifact.extra = None,
            Self::Ask(_) => {}
        }
        self
    }

    /// Refuses an artifact or a question with an id longer than [`MAX_PEER_ID`], because the id is stored
    /// with every piece and repeated in every frame.
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

    /// Returns how far the event advances a cursor: mergeable text by its length in bytes, any other event by
    /// 1.
    pub fn advance(&self) -> u64 {
        match self {
            Self::Chunk(chunk) if chunk.can_merge(chunk) && !chunk.text.is_empty() => {
                chunk.text.len() as u64
            }
            _ => 1,
        }
    }

    /// Returns the size of the event in bytes.
    pub fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(chunk) => chunk.weight(),
                Self::Artifact(artifact) => artifact.weight(),
                Self::Ask(ask) => ask.weight(),
            }
    }

    /// Appends `next` to this event, or returns `next` if the two cannot be merged. See [`Chunk::can_merge`].
    pub fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Chunk(last), Self::Chunk(next)) if last.can_merge(&next) => {
                last.text.push_str(&next.text);
                None
            }
            (_, next) => Some(next),
        }
    }
}
