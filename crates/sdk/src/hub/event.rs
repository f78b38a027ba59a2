//! Events of a call.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::RawEvent;
use crate::{Artifact, Ask, Chunk, ChunkKind, Done, Error};

/// Ids of a call, the hub's first event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CallStarted {
    /// Id of the call.
    #[serde(alias = "call")]
    pub id: String,
    /// Id of the conversation.
    #[serde(default)]
    pub session: String,
    /// Id of the task, if the call is durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// An event of a call.
#[derive(Debug, Clone)]
pub enum Event {
    /// The call has started.
    Started(CallStarted),
    /// A piece of the reply.
    Chunk(Chunk),
    /// An artifact, or a piece of one.
    Artifact(Artifact),
    /// A question; answer it with [`CallStream::answer`](crate::CallStream::answer).
    Ask(Ask),
    /// Events are missing: the reader was disconnected for too long.
    Gap,
    /// The agent has finished.
    Done(Done),
}

impl RawEvent {
    /// Parses the event. Returns `None` for event types of a newer hub. A failed or cancelled call is an
    /// error.
    pub fn read(self) -> Result<Option<Event>, Error> {
        Ok(Some(match self.name.as_str() {
            "call" => Event::Started(parse(self.data)?),
            "chunk" => Event::Chunk(chunk(self.data)?),
            "artifact" => Event::Artifact(parse(self.data)?),
            "ask" => Event::Ask(parse(self.data)?),
            "gap" => Event::Gap,
            "done" => Event::Done(parse(self.data)?),
            "cancelled" => return Err(Error::Cancelled),
            "failed" => {
                let text = |key: &str| self.data[key].as_str().unwrap_or_default().to_owned();
                return Err(Error::Failed {
                    code: text("error"),
                    cause: self.data["cause"].as_str().map(str::to_owned),
                    message: text("message"),
                });
            }
            _ => return Ok(None),
        }))
    }

    /// Returns whether the hub closes the stream because it stops. Such an event has no id, unlike the end of
    /// a call.
    pub(super) fn is_hub_stopping(&self) -> bool {
        self.name == "failed" && self.id.is_none() && self.data["error"] == "stopping"
    }
}

pub(super) fn parse<T: DeserializeOwned>(data: Value) -> Result<T, Error> {
    serde_json::from_value(data).map_err(|error| Error::Unreadable(error.to_string()))
}

/// Parses a chunk. A chunk kind of a newer hub is not part of the reply and becomes a status line.
fn chunk(mut data: Value) -> Result<Chunk, Error> {
    if let Some(Value::String(kind)) = data.get_mut("kind")
        && ChunkKind::from_name(kind).is_none()
    {
        ChunkKind::Status.name().clone_into(kind);
    }
    parse(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{AskKind, Part};

    fn read(name: &str, data: Value) -> Option<Event> {
        let raw = RawEvent {
            name: name.to_owned(),
            id: None,
            data,
        };
        raw.read().unwrap()
    }

    #[test]
    fn what_only_a_newer_hub_knows_is_ignored_or_shown_beside_the_answer() {
        assert!(read("weather", json!({"sun": true})).is_none());
        let Some(Event::Chunk(chunk)) = read("chunk", json!({"kind": "song", "text": "la"})) else {
            panic!("no chunk");
        };
        assert_eq!(chunk, Chunk::status("la"));
        let Some(Event::Chunk(chunk)) = read("chunk", json!({"text": "hi"})) else {
            panic!("no chunk");
        };
        assert_eq!(chunk, Chunk::text("hi"));
    }

    #[test]
    fn artifacts_questions_and_ends_are_read_with_their_json() {
        let artifact = json!({"id": "a", "parts": [{"data": {"n": 1}}], "append": false, "last": true, "new": 1});
        let Some(Event::Artifact(artifact)) = read("artifact", artifact) else {
            panic!("no artifact");
        };
        assert_eq!(artifact.parts, [Part::Data(json!({"n": 1}).into())]);
        let ask = json!({"id": "q", "kind": "approval", "text": "may I?", "arguments": [1]});
        let Some(Event::Ask(ask)) = read("ask", ask) else {
            panic!("no question");
        };
        assert_eq!(
            (ask.kind, ask.arguments),
            (AskKind::Approval, Some(json!([1]).into()))
        );
        let Some(Event::Done(done)) = read("done", json!({"usage": {"tokens": 7}})) else {
            panic!("no end");
        };
        assert_eq!(done.usage, Some(json!({"tokens": 7}).into()));
    }
}
