//! What the protocol speaks of, in no version in particular. All of it is owned: a task outlives the request.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Version;

/// JSON that is passed on as it came.
pub(crate) type Raw = Box<RawValue>;

/// Fields that this model has no place for, in their order. They are written again in the version they were read in, and
/// in no other: strict readers of one stumble over what the other lets pass.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Extra {
    /// The version they were read in; none if there are no fields.
    pub version: Option<Version>,
    /// Their names and values.
    pub fields: Vec<(String, Raw)>,
}

impl Extra {
    /// No fields.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one who calls.
    User,
    /// The one who is called.
    Agent,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Accepted, not begun.
    Submitted,
    /// Being worked on.
    Working,
    /// The agent waits for another message.
    InputRequired,
    /// The agent waits for credentials.
    AuthRequired,
    /// Done.
    Completed,
    /// Cancelled.
    Canceled,
    /// Failed.
    Failed,
    /// The agent would not do it.
    Rejected,
    /// Said by agents of version 0.3 that do not know, and by those of 1.0 that say nothing.
    Unknown,
}

impl State {
    /// Whether nothing more can happen to the task.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Canceled | Self::Failed | Self::Rejected => true,
            Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired
            | Self::Unknown => false,
        }
    }

    /// Whether the task goes on only when its caller does something.
    pub(crate) fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// What a part holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Words.
    Text(String),
    /// The bytes of a file, in base64.
    Bytes(String),
    /// Where a file is.
    Url(String),
    /// Any JSON.
    Data(Raw),
}

/// A part of a message or artifact.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// What it holds.
    pub content: Content,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its file name.
    pub filename: Option<String>,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// Fields not known here.
    pub extra: Extra,
}

impl Part {
    /// A part that is nothing but its content.
    pub(crate) fn new(content: Content) -> Self {
        Self {
            content,
            media_type: None,
            filename: None,
            metadata: None,
            extra: Extra::new(),
        }
    }

    /// A part of words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }
}

/// Something that is said.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Its id, chosen by who says it.
    pub id: String,
    /// The conversation.
    pub context_id: Option<String>,
    /// The task that it belongs to.
    pub task_id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// The extensions that it makes use of.
    pub extensions: Vec<String>,
    /// Other tasks that it speaks of.
    pub reference_task_ids: Vec<String>,
    /// Fields not known here.
    pub extra: Extra,
}

impl Message {
    /// A message with this id and these parts, and nothing else.
    pub(crate) fn new(id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            id: id.into(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
            extra: Extra::new(),
        }
    }
}

/// Something that an agent made, or a piece of it.
#[derive(Debug, Clone)]
pub(crate) struct Artifact {
    /// Its id within the task.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its contents.
    pub parts: Vec<Part>,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// The extensions that it makes use of.
    pub extensions: Vec<String>,
    /// Fields not known here.
    pub extra: Extra,
}

/// Where a task stands, and since when.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    /// Where.
    pub state: State,
    /// What the agent says to it.
    pub message: Option<Message>,
    /// Since when, as RFC 3339 in UTC with milliseconds.
    pub timestamp: Option<String>,
    /// Fields not known here.
    pub extra: Extra,
}

impl Status {
    /// A state and nothing else.
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            message: None,
            timestamp: None,
            extra: Extra::new(),
        }
    }
}

/// A piece of work.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// Its id, chosen by the server.
    pub id: String,
    /// The conversation.
    pub context_id: String,
    /// Where it stands.
    pub status: Status,
    /// What was made.
    pub artifacts: Vec<Artifact>,
    /// What was said.
    pub history: Vec<Message>,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// Fields not known here.
    pub extra: Extra,
}

/// A task has come to stand elsewhere, or its agent says something in between.
#[derive(Debug, Clone)]
pub(crate) struct StatusUpdate {
    /// The task.
    pub task_id: String,
    /// The conversation.
    pub context_id: String,
    /// Where it stands now.
    pub status: Status,
    /// Whether the stream ends with it; version 1.0 does not say so.
    pub is_final: bool,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// Fields not known here.
    pub extra: Extra,
}

/// Something was made, or more of it.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactUpdate {
    /// The task.
    pub task_id: String,
    /// The conversation.
    pub context_id: String,
    /// What was made.
    pub artifact: Artifact,
    /// Whether its parts continue those that came before under its id.
    pub append: bool,
    /// Whether nothing more comes under its id.
    pub last_chunk: bool,
    /// What else is said of it, an object.
    pub metadata: Option<Raw>,
    /// Fields not known here.
    pub extra: Extra,
}

/// What a stream carries. A plain send is answered by one of the first two.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// The task as it stands.
    Task(Box<Task>),
    /// A message, instead of a task.
    Message(Box<Message>),
    /// A change of its status.
    Status(Box<StatusUpdate>),
    /// Something was made.
    Artifact(Box<ArtifactUpdate>),
}

/// How whoever is notified wants to be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authentication {
    /// The schemes, by the names of HTTP: `Bearer`. Version 1.0 has just one.
    pub schemes: Vec<String>,
    /// What follows the scheme in the header.
    pub credentials: Option<String>,
}

/// Who is notified of the changes of a task.
#[derive(Debug, Clone)]
pub(crate) struct PushConfig {
    /// Its id within the task; the server makes one if there is none.
    pub id: Option<String>,
    /// The task; absent within the message that begins one.
    pub task_id: Option<String>,
    /// Where to.
    pub url: String,
    /// What the receiver knows the sender by.
    pub token: Option<String>,
    /// How to speak to it.
    pub authentication: Option<Authentication>,
    /// Fields not known here.
    pub extra: Extra,
}

/// How a sender wants its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    /// The media types that it can read; all if empty.
    pub accepted_output_modes: Vec<String>,
    /// How many of the last messages it wants to see; the server's choice if absent, none if 0.
    pub history_length: Option<usize>,
    /// Whether to answer as soon as the task is accepted. Not said: when it ends or is interrupted.
    pub return_immediately: Option<bool>,
    /// Who is notified of the task.
    pub push: Option<PushConfig>,
}

/// Asks for work.
#[derive(Debug, Clone)]
pub(crate) struct SendParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// What is said.
    pub message: Message,
    /// How to answer.
    pub configuration: Configuration,
    /// What else is said of the request, an object.
    pub metadata: Option<Raw>,
}

/// Names a task: for cancel and subscribe.
#[derive(Debug, Clone)]
pub(crate) struct TaskParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// The task.
    pub id: String,
    /// What else is said of the request, an object.
    pub metadata: Option<Raw>,
}

/// Asks for a task.
#[derive(Debug, Clone)]
pub(crate) struct GetParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// The task.
    pub id: String,
    /// How many of the last messages; see [`Configuration::history_length`].
    pub history_length: Option<usize>,
}

/// Asks for a page of tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// Only those of this conversation.
    pub context_id: Option<String>,
    /// Only those that stand here.
    pub state: Option<State>,
    /// At most so many, from 1 to 100.
    pub page_size: Option<usize>,
    /// Where the last page ended.
    pub page_token: Option<String>,
    /// How many of the last messages; see [`Configuration::history_length`].
    pub history_length: Option<usize>,
    /// Only those whose status changed at this time (RFC 3339) or later.
    pub status_timestamp_after: Option<String>,
    /// Whether to show what was made.
    pub include_artifacts: bool,
}

/// A page of tasks.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The tasks, those first that changed last.
    pub tasks: Vec<Task>,
    /// Where the next page begins; empty if there is none.
    pub next_page_token: String,
    /// How many a page has at most.
    pub page_size: usize,
    /// How many there are in all.
    pub total_size: usize,
}

/// Has somebody notified.
#[derive(Debug, Clone)]
pub(crate) struct PushCreateParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// Who is notified, and of which task.
    pub config: PushConfig,
}

/// Names a push config: for get and delete.
#[derive(Debug, Clone)]
pub(crate) struct PushParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// The task.
    pub task_id: String,
    /// The config. Version 0.3 may leave it out of a get: then the only or first one is meant.
    pub id: Option<String>,
}

/// Some of the push configs of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct PushPage {
    /// Those of this page.
    pub configs: Vec<PushConfig>,
    /// What asks for the next page; empty on the last one.
    pub next_page_token: String,
}

/// Asks for the push configs of a task.
#[derive(Debug, Clone)]
pub(crate) struct PushListParams {
    /// Whom, where one address serves many.
    pub tenant: Option<String>,
    /// The task.
    pub task_id: String,
    /// At most so many.
    pub page_size: Option<usize>,
    /// Where the last page ended.
    pub page_token: Option<String>,
}
