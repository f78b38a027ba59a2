//! What the stream of a call says, as JSON. How the core's events become it, and it becomes frames, is in `frame`.

use jackfield_core::{
    event::{AskKind, ChunkKind, DoneState, File, Json, Part},
    id::{CallId, RequestId, SessionId, TaskId},
};
use jackfield_kit::api::ErrorView;
use serde::Serialize;
use utoipa::ToSchema;

use super::body::{FileBody, PartBody};

/// The names of a call, told first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CallOpened)]
pub struct OpenedView {
    /// The call's id.
    #[schema(value_type = String, format = "uuid")]
    pub id: CallId,
    /// The request, as the agent sees it.
    #[schema(value_type = String)]
    pub request_id: RequestId,
    /// The conversation; name it again to go on with it.
    #[schema(value_type = String)]
    pub session: SessionId,
    /// The task that keeps the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    pub task: Option<TaskId>,
}

/// What the caller said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageView {
    /// The caller's own id of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) message_id: Option<String>,
    /// What it says.
    #[schema(value_type = Vec<PartBody>)]
    pub(super) parts: Vec<Part>,
    /// What the caller's protocol says besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) metadata: Option<Json>,
}

/// What a chunk is.
#[derive(Debug, ToSchema)]
#[schema(as = ChunkKind, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum ChunkKindView {
    /// The answer itself.
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

/// A piece of a reply.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Chunk)]
pub struct ChunkView {
    /// What it is.
    #[schema(value_type = ChunkKindView)]
    pub(super) kind: ChunkKind,
    /// The words.
    pub(super) text: String,
    /// The tool's name, on tool chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) tool_name: Option<String>,
    /// Which tool call it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) tool_call_id: Option<String>,
}

/// Something an agent made.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Artifact)]
pub struct ArtifactView {
    /// Its id within the task.
    pub(super) id: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) name: Option<String>,
    /// Its contents.
    #[schema(value_type = Vec<PartBody>)]
    pub(super) parts: Vec<Part>,
    /// Whether the parts continue what came before under this id.
    pub(super) append: bool,
    /// Whether nothing more comes under this id.
    pub(super) last: bool,
}

/// What an agent wants to know.
#[derive(Debug, ToSchema)]
#[schema(as = AskKind, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum AskKindView {
    /// More input, from the caller.
    Input,
    /// Leave to do something, from the owner of the asking agent.
    Approval,
}

/// A question; the call waits for its answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ask)]
pub struct AskView {
    /// Its id within the call: the `ask_id` of the answer.
    pub(super) id: String,
    /// What it wants.
    #[schema(value_type = AskKindView)]
    pub(super) kind: AskKind,
    /// The question.
    pub(super) text: String,
    /// The tool that needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) tool_name: Option<String>,
    /// Which tool call needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) tool_call_id: Option<String>,
    /// What the tool would be called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) arguments: Option<Json>,
    /// The JSON schema of the wanted answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) schema: Option<Json>,
}

/// The answer that a question got.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnswerGiven)]
pub struct AnswerView {
    /// The question's id.
    pub(super) ask_id: String,
    /// The words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) content: Option<String>,
    /// Files and data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<PartBody>, required = false)]
    pub(super) parts: Vec<Part>,
    /// Yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) approved: Option<bool>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) reason: Option<String>,
}

/// Some events are no longer there.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Gap)]
pub struct GapView {
    /// From where it goes on, as an event id.
    pub(super) next: String,
}

/// How a finished turn leaves its task.
#[derive(Debug, ToSchema)]
#[schema(as = DoneState, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum DoneStateView {
    /// The work is done.
    Completed,
    /// The agent waits for another message of the same task.
    InputRequired,
    /// The agent will not do it.
    Rejected,
}

/// The agent is done.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Done)]
pub struct DoneView {
    /// How the turn leaves its task.
    #[schema(value_type = DoneStateView)]
    pub(super) state: DoneState,
    /// Whether what the agent waits for are credentials, where the state is `input_required`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(super) needs_auth: bool,
    /// The whole answer, from agents that repeat it at the end or give it only there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) result: Option<String>,
    /// Files it made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<FileBody>, required = false)]
    pub(super) attachments: Vec<File>,
    /// What the answer cost, in the agent's own terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) usage: Option<Json>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) stop_reason: Option<String>,
    /// Files that the agent offers besides, as it wrote it: see `/v1/agents/{id}/transfers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) file_transfer_offer: Option<Json>,
}

/// One event of a call's stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallEvent {
    /// The call is on its way: its names.
    Call(OpenedView),
    /// The caller's message that opens a turn of a task.
    Message(MessageView),
    /// A piece of the reply.
    Chunk(ChunkView),
    /// Something the agent made.
    Artifact(ArtifactView),
    /// A question.
    Ask(AskView),
    /// The answer to a question.
    Answer(AnswerView),
    /// Something is no longer there.
    Gap(GapView),
    /// The end: the agent is done.
    Done(DoneView),
    /// The end: something went wrong. Without an `id:`, only the stream has ended, not what is kept.
    Failed(ErrorView),
    /// The end: somebody cancelled.
    Cancelled,
}
