//! JSON and SSE frames of the events for an observer of agents.

use jackfield_core::tap::{Direction, Seen, Sight};
use jackfield_kit::{api::ApiErrorBody, sse::SseFrame};
use jackfield_model::{AgentId, Artifact, Ask, CallId, Chunk, Event, Failure, Message};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{event::CallEvent, frame::frame};

/// Observed event, with time and source.
#[derive(Debug, Serialize, ToSchema)]
pub struct WatchEvent {
    /// Time of the event.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Observed agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// Observed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    call: Option<CallId>,
    /// Content of the event.
    #[serde(flatten)]
    sight: WatchContent,
}

/// Content of an observed event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = Sight)]
pub enum WatchContent {
    /// The agent came online.
    Online {
        /// Protocol of the connection.
        door: &'static str,
    },
    /// The agent went offline.
    Offline,
    /// A call of the agent started.
    Started {
        /// Caller.
        caller: String,
        /// Protocol of the caller.
        door: &'static str,
        /// Message of the caller.
        message: Message,
    },
    /// Piece of the agent's reply.
    Chunk(Chunk),
    /// Artifact of the agent.
    Artifact(Artifact),
    /// Question of the agent.
    Ask(Ask),
    /// The call ended.
    Ended {
        /// End of the call: `done`, `failed` or `cancelled`.
        end: CallEvent,
    },
    /// Message to an agent of the same protocol, relayed without a call.
    Relayed {
        /// Receiving agent.
        #[schema(value_type = String)]
        to: AgentId,
        /// Name of the message type in the protocol.
        kind: &'static str,
        /// Text of the message.
        text: String,
    },
    /// Raw frame on the agent's connection.
    Frame {
        /// `in` from the agent, `out` to the agent.
        direction: &'static str,
        /// Text of the frame.
        text: String,
    },
    /// The observer was too slow.
    Missed {
        /// Number of lost events.
        count: u64,
    },
    /// The stream ends with a failure.
    Failed(ApiErrorBody),
}

impl WatchEvent {
    /// Creates the event for `count` lost events.
    pub fn missed(count: u64) -> Self {
        Self::now(WatchContent::Missed { count })
    }

    /// Creates the event for a [`Failure`] that ends the stream early.
    pub fn failed(failure: &Failure) -> Self {
        Self::now(WatchContent::Failed(failure.into()))
    }

    fn now(sight: WatchContent) -> Self {
        Self {
            at: Timestamp::now(),
            agent: None,
            call: None,
            sight,
        }
    }

    /// Converts the event into an [`SseFrame`].
    pub fn frame(&self) -> SseFrame {
        let name = match self.sight {
            WatchContent::Online { .. } => "online",
            WatchContent::Offline => "offline",
            WatchContent::Started { .. } => "started",
            WatchContent::Chunk(_) => "chunk",
            WatchContent::Artifact(_) => "artifact",
            WatchContent::Ask(_) => "ask",
            WatchContent::Ended { .. } => "ended",
            WatchContent::Relayed { .. } => "relayed",
            WatchContent::Frame { .. } => "frame",
            WatchContent::Missed { .. } => "missed",
            WatchContent::Failed(_) => "failed",
        };
        frame(name, self)
    }
}

impl From<Seen> for WatchEvent {
    fn from(seen: Seen) -> Self {
        let sight = match seen.sight {
            Sight::Online(door) => WatchContent::Online { door },
            Sight::Offline => WatchContent::Offline,
            Sight::Started {
                caller,
                door,
                message,
            } => WatchContent::Started {
                caller,
                door,
                message: Message {
                    extra: None,
                    ..message
                },
            },
            Sight::Event(event) => match event.without_extra() {
                Event::Chunk(chunk) => WatchContent::Chunk(chunk),
                Event::Artifact(artifact) => WatchContent::Artifact(artifact),
                Event::Ask(ask) => WatchContent::Ask(ask),
            },
            Sight::Ended(end) => WatchContent::Ended { end: end.into() },
            Sight::Relayed { to, kind, text } => WatchContent::Relayed { to, kind, text },
            Sight::Frame(direction, text) => WatchContent::Frame {
                direction: match direction {
                    Direction::In => "in",
                    Direction::Out => "out",
                },
                text: text.to_string(),
            },
        };
        Self {
            at: seen.at,
            agent: Some(seen.agent),
            call: seen.call,
            sight,
        }
    }
}

#[cfg(test)]
mod tests {
    use jackfield_model::{Json, Part};

    use super::*;

    #[test]
    fn what_is_seen_keeps_raw_json_and_says_where() {
        let artifact = Artifact {
            id: "a".into(),
            name: None,
            parts: vec![Part::Data(Json::parse(r#"{"n": 1.50}"#).unwrap())],
            append: false,
            last: true,
            extra: None,
        };
        let seen = Seen {
            at: Timestamp::UNIX_EPOCH,
            agent: AgentId::parse("bob").unwrap(),
            call: None,
            sight: Sight::Event(Event::Artifact(artifact)),
        };
        let frame = WatchEvent::from(seen).frame();
        assert_eq!(frame.event.unwrap(), "artifact");
        assert_eq!(
            frame.data.unwrap(),
            r#"{"at":"1970-01-01T00:00:00Z","agent":"bob","type":"artifact","id":"a","parts":[{"data":{"n": 1.50}}],"append":false,"last":true}"#
        );
    }
}
