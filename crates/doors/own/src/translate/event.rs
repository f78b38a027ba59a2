//! JSON of a call's stream: the model's events, without fields specific to the agent's protocol. The module
//! `frame` converts the events into SSE frames.

use jackfield_kit::api::ApiErrorBody;
use jackfield_model::{
    Artifact, Ask, CallId, Chunk, Done, Message, Part, RequestId, SessionId, TaskId,
};
use serde::Serialize;
use utoipa::ToSchema;

/// Ids of a call, sent first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CallOpened)]
pub struct CallIds {
    /// Call id.
    #[schema(value_type = String, format = "uuid")]
    pub id: CallId,
    /// Request id, as seen by the agent.
    #[schema(value_type = String)]
    pub request_id: RequestId,
    /// Session id. Pass the id to continue the conversation.
    #[schema(value_type = String)]
    pub session: SessionId,
    /// Task of the call, if the call is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    pub task: Option<TaskId>,
}

/// Answer to a question.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnswerGiven)]
pub struct AnswerView {
    /// Id of the question.
    pub(super) ask_id: String,
    /// Text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) content: Option<String>,
    /// Files and data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(super) parts: Vec<Part>,
    /// Decision on an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) approved: Option<bool>,
    /// Reason for the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) reason: Option<String>,
}

/// Lost events.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Gap)]
pub struct GapView {
    /// Event id after which the stream continues.
    pub(super) next: String,
}

/// Event of a call's stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallEvent {
    /// Start of the call, with its ids.
    Call(CallIds),
    /// Message of the caller that starts a turn of a task.
    Message(Message),
    /// Piece of the reply.
    Chunk(Chunk),
    /// Artifact of the agent.
    Artifact(Artifact),
    /// Question of the agent.
    Ask(Ask),
    /// Answer to a question.
    Answer(AnswerView),
    /// Some events are no longer stored.
    Gap(GapView),
    /// End: the agent is done.
    Done(Done),
    /// End: the call failed. Without an `id:`, only the stream ended; the durable call continues.
    Failed(ApiErrorBody),
    /// End: the call was cancelled.
    Cancelled,
}
