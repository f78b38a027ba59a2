//! What an observer sees of all agents it may watch, as JSON and as SSE frames.

use jackfield_core::tap::{Direction, Seen, Sight};
use jackfield_kit::{api::ErrorView, sse::SseFrame};
use jackfield_model::{AgentId, Artifact, Ask, CallId, Chunk, Event, Failure, Message};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{event::CallEvent, frame::frame};

/// What an observer sees, and when and where.
#[derive(Debug, Serialize, ToSchema)]
pub struct WatchEvent {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// At which agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// In which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    call: Option<CallId>,
    /// What.
    #[serde(flatten)]
    sight: SightView,
}

/// What an observer sees.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = Sight)]
pub enum SightView {
    /// The agent came online.
    Online {
        /// By this protocol.
        door: &'static str,
    },
    /// The agent went offline.
    Offline,
    /// Somebody calls the agent.
    Started {
        /// Who.
        caller: String,
        /// By which protocol.
        door: &'static str,
        /// What they say.
        message: Message,
    },
    /// The agent says something.
    Chunk(Chunk),
    /// The agent made something.
    Artifact(Artifact),
    /// The agent asks.
    Ask(Ask),
    /// The call is over.
    Ended {
        /// How: `done`, `failed` or `cancelled`.
        end: CallEvent,
    },
    /// The agent says something to another one of its protocol, without a call in between.
    Relayed {
        /// To whom.
        #[schema(value_type = String)]
        to: AgentId,
        /// The protocol's name for it.
        kind: &'static str,
        /// The words of it.
        text: String,
    },
    /// A frame on the agent's connection, as it is.
    Frame {
        /// `in` from the agent, `out` to it.
        direction: &'static str,
        /// The frame.
        text: String,
    },
    /// The observer lagged.
    Missed {
        /// So many were missed.
        count: u64,
    },
    /// The stream ends: something went wrong.
    Failed(ErrorView),
}

impl WatchEvent {
    /// So many were missed.
    pub fn missed(count: u64) -> Self {
        Self::now(SightView::Missed { count })
    }

    /// The stream ends early.
    pub fn failed(failure: &Failure) -> Self {
        Self::now(SightView::Failed(failure.into()))
    }

    fn now(sight: SightView) -> Self {
        Self {
            at: Timestamp::now(),
            agent: None,
            call: None,
            sight,
        }
    }

    /// As a frame.
    pub fn frame(&self) -> SseFrame {
        let name = match self.sight {
            SightView::Online { .. } => "online",
            SightView::Offline => "offline",
            SightView::Started { .. } => "started",
            SightView::Chunk(_) => "chunk",
            SightView::Artifact(_) => "artifact",
            SightView::Ask(_) => "ask",
            SightView::Ended { .. } => "ended",
            SightView::Relayed { .. } => "relayed",
            SightView::Frame { .. } => "frame",
            SightView::Missed { .. } => "missed",
            SightView::Failed(_) => "failed",
        };
        frame(name, self)
    }
}

impl From<Seen> for WatchEvent {
    fn from(seen: Seen) -> Self {
        let sight = match seen.sight {
            Sight::Online(door) => SightView::Online { door },
            Sight::Offline => SightView::Offline,
            Sight::Started {
                caller,
                door,
                message,
            } => SightView::Started {
                caller,
                door,
                message: Message {
                    extra: None,
                    ..message
                },
            },
            Sight::Event(event) => match event.without_extra() {
                Event::Chunk(chunk) => SightView::Chunk(chunk),
                Event::Artifact(artifact) => SightView::Artifact(artifact),
                Event::Ask(ask) => SightView::Ask(ask),
            },
            Sight::Ended(end) => SightView::Ended { end: end.into() },
            Sight::Relayed { to, kind, text } => SightView::Relayed { to, kind, text },
            Sight::Frame(direction, text) => SightView::Frame {
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
