//! What travels in a call's pipes: events of a reply, items of an input, and how a call ends.
//! Protocol-neutral; each door translates to and from its own frames.

mod data_url;
mod end;
mod file;
mod json;

use serde::{Deserialize, Serialize};

pub use self::{
    end::{Done, DoneState, End},
    file::{File, FileSource},
    json::Json,
};
use crate::{
    failure::{Failure, Reason},
    id::MAX_PEER_ID,
    pipe::Item,
};

/// What a chunk of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// The answer itself.
    #[default]
    Text,
    /// The agent's reasoning.
    Thinking,
    /// A tool call begins.
    ToolStart,
    /// Input of a tool call.
    ToolInput,
    /// Result of a tool call.
    ToolResult,
    /// What the agent is doing.
    Status,
}

impl ChunkKind {
    /// The name on the wire, the same in every protocol that has kinds.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::ToolStart => "tool_start",
            Self::ToolInput => "tool_input",
            Self::ToolResult => "tool_result",
            Self::Status => "status",
        }
    }

    /// Reads the name back.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Text,
            Self::Thinking,
            Self::ToolStart,
            Self::ToolInput,
            Self::ToolResult,
            Self::Status,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// What it is.
    #[serde(default)]
    pub kind: ChunkKind,
    /// The words.
    pub text: String,
    /// The tool's name, on tool chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Which tool call this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What only the door it came through can read, as in [`Message::extra`]. Pieces that differ in it are not joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

impl Chunk {
    /// A piece of the answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A word on what is going on.
    pub fn status(text: impl Into<String>) -> Self {
        Self {
            kind: ChunkKind::Status,
            text: text.into(),
            ..Self::default()
        }
    }

    /// Whether `next` may be joined to this one: same kind, same tool call, and not the start of a tool call
    /// (each start is one call) nor a status (each is one line).
    pub fn joins(&self, next: &Self) -> bool {
        self.kind == next.kind
            && matches!(
                self.kind,
                ChunkKind::Text
                    | ChunkKind::Thinking
                    | ChunkKind::ToolInput
                    | ChunkKind::ToolResult
            )
            && self.tool_call_id == next.tool_call_id
            && self.tool_name == next.tool_name
            && self.extra == next.extra
    }
}

/// A part of a message or artifact. Externally tagged, since raw JSON does not survive serde's internal tagging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text(String),
    /// A file.
    File(File),
    /// Structured data.
    Data(Json),
}

impl Part {
    fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::File(file) => file.weight(),
            Self::Data(json) => json.get().len(),
        }
    }
}

/// What parts weigh. The first has its own size in whatever holds it; each that follows costs memory, however little it says.
fn parts_weight(parts: &[Part]) -> usize {
    let own: usize = parts.iter().map(Part::weight).sum();
    own + ITEM_OVERHEAD * parts.len().saturating_sub(1)
}

fn len(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

fn json_len(json: &Option<Json>) -> usize {
    json.as_ref().map_or(0, |json| json.get().len())
}

/// What the caller says to the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Message {
    /// The caller's own id of the message, if its protocol has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it says.
    pub parts: Vec<Part>,
    /// What the caller's protocol says besides; passed on where the agent's protocol can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// What only the door it came through can read: fields that have no place here, kept for others of that protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

impl Message {
    /// A message of words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Text(text.into())],
            ..Self::default()
        }
    }

    /// All its words, for agents that take one text. Parts are joined by line breaks.
    pub fn words(&self) -> String {
        self.joined(|part| match part {
            Part::Text(text) => Some(text),
            Part::File(_) | Part::Data(_) => None,
        })
    }

    /// Its words and its data, for agents that take one text and would not see the data otherwise.
    pub fn words_and_data(&self) -> String {
        self.joined(|part| match part {
            Part::Text(text) => Some(text),
            Part::Data(json) => Some(json.get()),
            Part::File(_) => None,
        })
    }

    fn joined(&self, text_of: impl FnMut(&Part) -> Option<&str>) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(text_of).collect();
        texts.join("\n")
    }

    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| {
            if let Part::File(file) = part {
                Some(file)
            } else {
                None
            }
        })
    }

    /// Its size in bytes, for the limit on messages.
    pub fn weight(&self) -> usize {
        let parts = parts_weight(&self.parts);
        len(&self.id) + parts + json_len(&self.metadata) + json_len(&self.extra)
    }
}

/// Something an agent made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id within the task.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its contents.
    pub parts: Vec<Part>,
    /// Whether the parts continue what came before under this id.
    #[serde(default)]
    pub append: bool,
    /// Whether nothing more comes under this id.
    #[serde(default)]
    pub last: bool,
    /// What only the door it came through can read, as in [`Message::extra`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

impl Artifact {
    fn weight(&self) -> usize {
        self.id.len() + len(&self.name) + parts_weight(&self.parts) + json_len(&self.extra)
    }
}

/// What an agent wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// More input, from the caller.
    Input,
    /// Leave to do something, from the owner of the asking agent.
    Approval,
}

/// A question that suspends the call until it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Its id within the call.
    pub id: String,
    /// What it wants.
    pub kind: AskKind,
    /// The question.
    pub text: String,
    /// The tool that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Which tool call needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What the tool would be called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// The JSON schema of the wanted answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
}

impl Ask {
    pub(crate) fn weight(&self) -> usize {
        let tool = len(&self.tool_name) + len(&self.tool_call_id);
        let details = json_len(&self.arguments) + json_len(&self.schema);
        self.id.len() + self.text.len() + tool + details
    }
}

/// The answer to an ask.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The caller's own id of it, if its protocol has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Files and data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Yes or no, to an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the caller's protocol says besides, as in [`Message::metadata`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// What only the door it came through can read, as in [`Message::extra`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

impl Answer {
    pub(crate) fn weight(&self) -> usize {
        let besides = len(&self.id) + json_len(&self.metadata) + json_len(&self.extra);
        len(&self.content) + parts_weight(&self.parts) + len(&self.reason) + besides
    }
}

/// What an agent says while it works.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A piece of the reply.
    Chunk(Chunk),
    /// Something it made.
    Artifact(Artifact),
    /// A question.
    Ask(Ask),
}

impl Event {
    /// A piece of the answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Chunk(Chunk::text(text))
    }

    /// The name of its kind, as the log stores it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Chunk(_) => "chunk",
            Self::Artifact(_) => "artifact",
            Self::Ask(_) => "ask",
        }
    }

    /// Its body as JSON, as the log stores it.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Chunk(chunk) => serde_json::to_string(chunk),
            Self::Artifact(artifact) => serde_json::to_string(artifact),
            Self::Ask(ask) => serde_json::to_string(ask),
        }
    }

    /// Reads an event back from the log.
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

    /// Refuses an id that nobody can mean: it is kept with every piece of what it names, and repeated in every frame.
    pub(crate) fn check_id(&self) -> Result<(), Failure> {
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

    /// By how much it advances a cursor: text by its bytes, anything else by 1.
    pub fn advance(&self) -> u64 {
        match self {
            Self::Chunk(chunk) if chunk.joins(chunk) && !chunk.text.is_empty() => {
                chunk.text.len() as u64
            }
            _ => 1,
        }
    }
}

/// What an item of a pipe weighs besides its text: about its own size in memory.
pub(crate) const ITEM_OVERHEAD: usize = 64;

impl Item for Event {
    fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(chunk) => {
                    let tool = len(&chunk.tool_name) + len(&chunk.tool_call_id);
                    chunk.text.len() + tool + json_len(&chunk.extra)
                }
                Self::Artifact(artifact) => artifact.weight(),
                Self::Ask(ask) => ask.weight(),
            }
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Chunk(last), Self::Chunk(next)) if last.joins(&next) => {
                last.text.push_str(&next.text);
                None
            }
            (_, next) => Some(next),
        }
    }
}

/// What a caller says after its message.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// More of a streamed message.
    Chunk(String),
    /// The streamed message is complete.
    EndOfMessage,
    /// The answer to an ask, by the ask's id.
    Answer(String, Answer),
}

impl Item for Input {
    fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(text) => text.len(),
                Self::EndOfMessage => 0,
                Self::Answer(id, answer) => id.len() + answer.weight(),
            }
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Chunk(last), Self::Chunk(next)) => {
                last.push_str(&next);
                None
            }
            (_, next) => Some(next),
        }
    }
}

#[cfg(test)]
mod tests;
