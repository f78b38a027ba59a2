//! What the stream of a call says, as JSON: the model's events, without what only the agent's protocol can read. How they
//! become frames is in `frame`.

use jackfield_kit::api::ErrorView;
use jackfield_model::{
    Artifact, Ask, CallId, Chunk, Done, Message, Part, RequestId, SessionId, TaskId,
};
use serde::Serialize;
use utoipa::ToSchema;

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
    #[schema(required = false)]
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

/// One event of a call's stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallEvent {
    /// The call is on its way: its names.
    Call(OpenedView),
    /// The caller's message that opens a turn of a task.
    Message(Message),
    /// A piece of the reply.
    Chunk(Chunk),
    /// Something the agent made.
    Artifact(Artifact),
    /// A question.
    Ask(Ask),
    /// The answer to a question.
    Answer(AnswerView),
    /// Something is no longer there.
    Gap(GapView),
    /// The end: the agent is done.
    Done(Done),
    /// The end: something went wrong. Without an `id:`, only the stream has ended, not what is kept.
    Failed(ErrorView),
    /// The end: somebody cancelled.
    Cancelled,
}
