//! Types of the protocol, independent of the version. All types own their data, because a task outlives the
//! request.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::A2aVersion;

/// JSON that is passed on unchanged.
pub(crate) type Raw = Box<RawValue>;

/// Unknown fields in their order. The fields are written again only in the version of their origin, because
/// strict readers of one version reject fields that the other version tolerates.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Extra {
    /// Version of the input; `None` if empty.
    pub version: Option<A2aVersion>,
    /// Names and values.
    pub fields: Vec<(String, Raw)>,
}

impl Extra {
    /// Returns an empty list of fields.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns true if the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Caller.
    User,
    /// Agent.
    Agent,
}

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum A2aState {
    /// Accepted, not started.
    Submitted,
    /// In progress.
    Working,
    /// The agent waits for a further message.
    InputRequired,
    /// The agent waits for credentials.
    AuthRequired,
    /// Completed.
    Completed,
    /// Cancelled.
    Canceled,
    /// Failed.
    Failed,
    /// Rejected by the agent.
    Rejected,
    /// Unknown in version 0.3, unspecified in version 1.0.
    Unknown,
}

impl A2aState {
    /// Returns true if the task is over.
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

    /// Returns true if the task waits for its caller.
    pub(crate) fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Content of a part.
#[derive(Debug, Clone)]
pub(crate) enum PartContent {
    /// Text.
    Text(String),
    /// Bytes of a file, in base64.
    Bytes(String),
    /// URL of a file.
    Url(String),
    /// Any JSON.
    Data(Raw),
}

/// Part of a message or artifact.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Content of the part.
    pub content: PartContent,
    /// Media type.
    pub media_type: Option<String>,
    /// File name.
    pub filename: Option<String>,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Unknown fields.
    pub extra: Extra,
}

impl Part {
    /// Creates a part with only a content.
    pub(crate) fn new(content: PartContent) -> Self {
        Self {
            content,
            media_type: None,
            filename: None,
            metadata: None,
            extra: Extra::new(),
        }
    }

    /// Creates a text part.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }
}

/// Message of a caller or an agent.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Message id, chosen by the author.
    pub id: String,
    /// Context id: the conversation.
    pub context_id: Option<String>,
    /// Task of the message.
    pub task_id: Option<String>,
    /// Author of the message.
    pub role: Role,
    /// Content of the message.
    pub parts: Vec<Part>,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Extensions that the message uses.
    pub extensions: Vec<String>,
    /// Further tasks that the message refers to.
    pub reference_task_ids: Vec<String>,
    /// Unknown fields.
    pub extra: Extra,
}

impl Message {
    /// Creates a message with only an id, a role and parts.
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

/// Artifact of an agent, or a piece of an artifact.
#[derive(Debug, Clone)]
pub(crate) struct Artifact {
    /// Artifact id, unique within the task.
    pub id: String,
    /// Display name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Content of the artifact.
    pub parts: Vec<Part>,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Extensions that the artifact uses.
    pub extensions: Vec<String>,
    /// Unknown fields.
    pub extra: Extra,
}

/// Status of a task.
#[derive(Debug, Clone)]
pub(crate) struct A2aStatus {
    /// State of the task.
    pub state: A2aState,
    /// Message of the agent about the state.
    pub message: Option<Message>,
    /// Time of the last change, as RFC 3339 in UTC with milliseconds.
    pub timestamp: Option<String>,
    /// Unknown fields.
    pub extra: Extra,
}

impl A2aStatus {
    /// Creates a status with only a state.
    pub(crate) fn new(state: A2aState) -> Self {
        Self {
            state,
            message: None,
            timestamp: None,
            extra: Extra::new(),
        }
    }
}

/// Task: work of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// Task id, chosen by the server.
    pub id: String,
    /// Context id: the conversation.
    pub context_id: String,
    /// Current status.
    pub status: A2aStatus,
    /// Artifacts of the agent.
    pub artifacts: Vec<Artifact>,
    /// Messages of caller and agent.
    pub history: Vec<Message>,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Unknown fields.
    pub extra: Extra,
}

/// Change of a task's status, or an intermediate message of the agent.
#[derive(Debug, Clone)]
pub(crate) struct StatusUpdate {
    /// Task id.
    pub task_id: String,
    /// Context id: the conversation.
    pub context_id: String,
    /// New status.
    pub status: A2aStatus,
    /// True if the stream ends with the update; absent in version 1.0.
    pub is_final: bool,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Unknown fields.
    pub extra: Extra,
}

/// New artifact, or a further piece of an artifact.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactUpdate {
    /// Task id.
    pub task_id: String,
    /// Context id: the conversation.
    pub context_id: String,
    /// Artifact or piece.
    pub artifact: Artifact,
    /// True if the parts continue the artifact of the same id.
    pub append: bool,
    /// True for the last piece of the artifact.
    pub last_chunk: bool,
    /// Metadata, an object.
    pub metadata: Option<Raw>,
    /// Unknown fields.
    pub extra: Extra,
}

/// Element of a stream. The answer to a plain send is [`StreamItem::Task`] or [`StreamItem::Message`].
#[derive(Debug, Clone)]
pub(crate) enum StreamItem {
    /// Current task.
    Task(Box<Task>),
    /// Message in place of a task.
    Message(Box<Message>),
    /// Change of the status.
    Status(Box<StatusUpdate>),
    /// New artifact or piece.
    Artifact(Box<ArtifactUpdate>),
}

/// Authentication of push notifications at the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authentication {
    /// HTTP authentication schemes, such as `Bearer`. Version 1.0 has a single scheme.
    pub schemes: Vec<String>,
    /// Credentials after the scheme in the header.
    pub credentials: Option<String>,
}

/// Receiver of a task's push notifications.
#[derive(Debug, Clone)]
pub(crate) struct PushConfig {
    /// Config id, unique within the task; created by the server if absent.
    pub id: Option<String>,
    /// Task id; absent in the message that starts the task.
    pub task_id: Option<String>,
    /// URL of the receiver.
    pub url: String,
    /// Token by which the receiver recognizes the sender.
    pub token: Option<String>,
    /// Authentication at the receiver.
    pub authentication: Option<Authentication>,
    /// Unknown fields.
    pub extra: Extra,
}

/// Options for the answer to a send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configuration {
    /// Media types that the caller can read; empty for all.
    pub accepted_output_modes: Vec<String>,
    /// Number of latest messages in the answer; the server's choice if absent, none if 0.
    pub history_length: Option<usize>,
    /// True to answer as soon as the task is accepted; otherwise the answer comes when the task ends or is
    /// interrupted.
    pub return_immediately: Option<bool>,
    /// Receiver of push notifications.
    pub push: Option<PushConfig>,
}

/// Params of a send.
#[derive(Debug, Clone)]
pub(crate) struct SendParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Message to send.
    pub message: Message,
    /// Options for the answer.
    pub configuration: Configuration,
    /// Metadata of the request, an object.
    pub metadata: Option<Raw>,
}

/// Params with only a task, for cancel and subscribe.
#[derive(Debug, Clone)]
pub(crate) struct TaskParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Task id.
    pub id: String,
    /// Metadata of the request, an object.
    pub metadata: Option<Raw>,
}

/// Params for fetching a task.
#[derive(Debug, Clone)]
pub(crate) struct GetParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Task id.
    pub id: String,
    /// Number of latest messages; see [`Configuration::history_length`].
    pub history_length: Option<usize>,
}

/// Params for listing tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Filter: context id.
    pub context_id: Option<String>,
    /// Filter: state.
    pub state: Option<A2aState>,
    /// Largest number of tasks per page, from 1 to 100.
    pub page_size: Option<usize>,
    /// Token of the page to return.
    pub page_token: Option<String>,
    /// Number of latest messages; see [`Configuration::history_length`].
    pub history_length: Option<usize>,
    /// Filter: time of the last status change (RFC 3339), inclusive.
    pub status_timestamp_after: Option<String>,
    /// True to include artifacts.
    pub include_artifacts: bool,
}

/// Page of tasks.
#[derive(Debug, Clone)]
pub(crate) struct TaskPage {
    /// Tasks, last changed first.
    pub tasks: Vec<Task>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Largest number of tasks per page.
    pub page_size: usize,
    /// Total number of matching tasks.
    pub total_size: usize,
}

/// Params for adding a push config.
#[derive(Debug, Clone)]
pub(crate) struct PushCreateParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Config with its task.
    pub config: PushConfig,
}

/// Params that name a push config, for get and delete.
#[derive(Debug, Clone)]
pub(crate) struct PushParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Task id.
    pub task_id: String,
    /// Config id. Version 0.3 may leave the id out of a get, which then returns the first config.
    pub id: Option<String>,
}

/// Page of a task's push configs.
#[derive(Debug, Clone, Default)]
pub(crate) struct PushPage {
    /// Configs of the page.
    pub configs: Vec<PushConfig>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
}

/// Params for listing the push configs of a task.
#[derive(Debug, Clone)]
pub(crate) struct PushListParams {
    /// Agent, for addresses that serve several agents.
    pub tenant: Option<String>,
    /// Task id.
    pub task_id: String,
    /// Largest number of configs per page.
    pub page_size: Option<usize>,
    /// Token of the page to return.
    pub page_token: Option<String>,
}
