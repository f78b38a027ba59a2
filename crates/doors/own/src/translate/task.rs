//! JSON of calls and tasks: their records, and the results collected from their events.

use jackfield_core::{
    call::{Approval, Call, Standing},
    principal::Principal,
    store::{TaskRecord, TaskState},
};
use jackfield_kit::api::ApiErrorBody;
use jackfield_model::{
    AgentId, Answer, Artifact, Ask, CallId, DoneState, File, Json, Message, Part, RequestId,
    SessionId, TaskId, Transcript,
};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::CallIds;

/// Task: the record of consecutive durable calls.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskSummary {
    /// Id of the task.
    #[schema(value_type = String, format = "uuid")]
    id: TaskId,
    /// Current or last call.
    #[schema(value_type = String, format = "uuid")]
    call: CallId,
    /// State of the task.
    state: TaskState,
    /// Called agent.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Name of the caller, as seen by the agent.
    caller: String,
    /// Protocol of the caller.
    door: String,
    /// Session id.
    #[schema(value_type = String)]
    session: SessionId,
    /// Request id, as seen by the agent.
    #[schema(value_type = String)]
    request_id: RequestId,
    /// Parent of the call, if known: a task, or a live call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    parent: Option<TaskId>,
    /// Time of acceptance.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Time limit for the agent to come online.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    wait_until: Option<Timestamp>,
    /// Cause of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    failure: Option<ApiErrorBody>,
    /// Pending approvals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    approvals: Vec<ApprovalView>,
}

/// Pending approval. The state of the call stays `working`, because the caller does not need to act.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalView {
    /// Id of the question: the `ask_id` of the answer.
    ask_id: String,
    /// Owner of the asking agent, who decides.
    owner: String,
    /// Tool that needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool_name: Option<String>,
}

impl From<Approval> for ApprovalView {
    fn from(approval: Approval) -> Self {
        Self {
            ask_id: approval.ask,
            owner: approval.owner.as_str().to_owned(),
            tool_name: approval.tool,
        }
    }
}

/// Call that waits for your decision. Contains the request only.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WaitingCall)]
pub struct WaitingView {
    /// Call id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// Task of the call, if the call is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    task: Option<TaskId>,
    /// Asking agent.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Name of the caller, as seen by the agent.
    caller: String,
    /// Protocol of the caller.
    door: &'static str,
    /// Approvals for you to decide.
    asks: Vec<Ask>,
}

/// Progress of an open call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Standing)]
#[serde(rename_all = "snake_case")]
pub enum CallProgressView {
    /// Waiting for the agent to come online.
    Waiting,
    /// Waiting in the queue: the agent takes a single call of a conversation at a time.
    Queued,
    /// In work at the agent.
    Working,
}

/// Open call at your agent: caller and start time, without the content.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OpenCall)]
pub struct OpenCallView {
    /// Call id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// Task of the call, if the call is durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    task: Option<TaskId>,
    /// Called agent or team.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Progress of the call.
    state: CallProgressView,
    /// Name of the caller, as seen by the agent.
    caller: String,
    /// Protocol of the caller.
    door: &'static str,
    /// Start time.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

impl From<&Call> for OpenCallView {
    fn from(call: &Call) -> Self {
        Self {
            id: call.id,
            task: call.task,
            agent: call.addressed.clone(),
            state: match call.standing() {
                Standing::Waiting => CallProgressView::Waiting,
                Standing::Queued => CallProgressView::Queued,
                Standing::Working => CallProgressView::Working,
            },
            caller: call.principal.label().to_owned(),
            door: call.door,
            since: call.id.created_at(),
        }
    }
}

/// Open calls at an agent, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenCallList {
    /// Calls.
    pub calls: Vec<OpenCallView>,
}

/// Tasks, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskList {
    /// Calls of any caller that wait for your decision, durable or live. Only on the first page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub waiting: Vec<WaitingView>,
    /// Tasks.
    pub tasks: Vec<TaskSummary>,
    /// Value of `before` for the next page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    pub next: Option<TaskId>,
}

/// Author of a history item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Caller.
    Caller,
    /// Agent.
    Agent,
}

/// Item of a task's conversation.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct HistoryItem {
    /// Author.
    pub(super) role: Role,
    /// Content.
    pub(super) parts: Vec<Part>,
    /// Message id assigned by the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) message_id: Option<String>,
    /// Id of the question, for a question or an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) ask_id: Option<String>,
    /// Decision on an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) approved: Option<bool>,
}

impl HistoryItem {
    fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            message_id: None,
            ask_id: None,
            approved: None,
        }
    }

    /// Creates the item for a [`Message`] of the caller.
    pub fn message(message: Message) -> Self {
        Self {
            message_id: message.id,
            ..Self::new(Role::Caller, message.parts)
        }
    }

    /// Creates the item for an [`Ask`] of the agent.
    pub fn asked(ask: Ask) -> Self {
        Self {
            ask_id: Some(ask.id),
            ..Self::new(Role::Agent, vec![Part::Text(ask.text)])
        }
    }

    /// Creates the item for an [`Answer`].
    pub fn answer(ask_id: String, answer: Answer) -> Self {
        let mut parts: Vec<_> = answer.content.into_iter().map(Part::Text).collect();
        parts.extend(answer.parts);
        parts.extend(answer.reason.map(Part::Text));
        Self {
            ask_id: Some(ask_id),
            approved: answer.approved,
            ..Self::new(Role::Caller, parts)
        }
    }
}

// Only describes the JSON: `task_response.rs` writes it in pieces.
/// Task with its complete conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskView {
    /// Record of the task.
    #[serde(flatten)]
    pub(super) record: TaskSummary,
    /// Answer of the current or last turn, as far as received.
    pub(super) text: String,
    /// Artifacts of the agent.
    pub(super) artifacts: Vec<Artifact>,
    /// Files attached to the end of the last turn.
    pub(super) attachments: Vec<File>,
    /// Whether the agent waits for credentials.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(super) needs_auth: bool,
    /// Files offered by the agent at the end of the last turn, in the agent's own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) file_transfer_offer: Option<Json>,
    /// Conversation, in order.
    pub(super) history: Vec<HistoryItem>,
    /// Questions that the caller of the API may answer now.
    pub(super) asks: Vec<Ask>,
    /// Whether text, artifacts or history are incomplete: too large, or no longer stored.
    pub(super) truncated: bool,
    /// Event id for reading on, as `after`.
    pub(super) cursor: String,
}

/// Open live call. Only its caller reads the reply.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveCall)]
pub struct LiveView {
    /// Call id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// State of the call.
    state: TaskState,
    /// Called agent.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Name of the caller, as seen by the agent.
    caller: String,
    /// Protocol of the caller.
    door: &'static str,
    /// Session id.
    #[schema(value_type = String)]
    session: SessionId,
    /// Request id, as seen by the agent.
    #[schema(value_type = String)]
    request_id: RequestId,
    /// Parent call, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    parent: Option<TaskId>,
    /// Questions that the caller of the API may answer now.
    asks: Vec<Ask>,
    /// Pending approvals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    approvals: Vec<ApprovalView>,
}

/// Task, or an open call: your own live call, or a call that waits for your decision.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "life", rename_all = "snake_case")]
#[schema(as = Call)]
pub enum CallView {
    /// Task.
    #[serde(rename = "kept")]
    Task(Box<TaskView>),
    /// Open live call.
    Live(LiveView),
    /// Open call of another caller that waits for your decision.
    Waiting(WaitingView),
}

/// Stored call that continues in the background.
#[derive(Debug, Serialize, ToSchema)]
pub struct Detached {
    /// Task id.
    #[schema(value_type = String, format = "uuid")]
    pub task: TaskId,
    /// Call id.
    #[schema(value_type = String, format = "uuid")]
    pub call: CallId,
    /// Session id.
    #[schema(value_type = String)]
    pub session: SessionId,
}

/// Complete answer to a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallResult {
    /// Ids of the call.
    #[serde(flatten)]
    pub(super) opened: CallIds,
    /// Final state.
    pub(super) state: TaskState,
    /// Text of the answer.
    pub(super) text: String,
    /// Whether the agent waits for credentials, if the state is `input_required`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(super) needs_auth: bool,
    /// Artifacts of the agent.
    pub(super) artifacts: Vec<Artifact>,
    /// Files attached to the end.
    pub(super) attachments: Vec<File>,
    /// Usage, in the agent's own terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) usage: Option<Json>,
    /// Reason why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) stop_reason: Option<String>,
    /// Further files offered by the agent, in the agent's own format: see `/v1/agents/{id}/transfers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) file_transfer_offer: Option<Json>,
}

impl CallResult {
    /// Creates the answer of a finished call from its [`Transcript`]. `is_cancelled` if the agent did not finish.
    pub fn new(transcript: Transcript, opened: CallIds, is_cancelled: bool) -> Self {
        let (text, artifacts, done) = transcript.into_inner();
        let state = match done.state {
            _ if is_cancelled => TaskState::Cancelled,
            DoneState::Completed => TaskState::Completed,
            DoneState::InputRequired => TaskState::InputRequired,
            DoneState::Rejected => TaskState::Rejected,
        };
        let without_extra = |artifact| Artifact {
            extra: None,
            ..artifact
        };
        Self {
            opened,
            state,
            text,
            needs_auth: done.needs_auth,
            artifacts: artifacts.into_iter().map(without_extra).collect(),
            attachments: done.attachments,
            usage: done.usage,
            stop_reason: done.stop_reason,
            file_transfer_offer: done.file_transfer_offer,
        }
    }
}

impl From<TaskRecord> for TaskSummary {
    fn from(record: TaskRecord) -> Self {
        Self {
            id: record.id,
            call: record.call,
            state: record.state,
            agent: record.agent,
            caller: record.caller,
            door: record.door,
            session: record.session,
            request_id: record.request,
            parent: record.parent,
            created_at: record.created_at,
            updated_at: record.updated_at,
            wait_until: record.wait_until,
            failure: record.failure.as_ref().map(ApiErrorBody::from),
            approvals: Vec::new(),
        }
    }
}

impl TaskSummary {
    /// Creates the summary of a [`TaskRecord`], with the pending approvals of its open call.
    pub fn new(record: TaskRecord, call: Option<&Call>) -> Self {
        Self {
            approvals: call.map(approvals_view).unwrap_or_default(),
            ..record.into()
        }
    }
}

impl From<&TaskRecord> for CallIds {
    fn from(record: &TaskRecord) -> Self {
        Self {
            id: record.call,
            request_id: record.request.clone(),
            session: record.session.clone(),
            task: Some(record.id),
        }
    }
}

impl From<&Call> for CallIds {
    fn from(call: &Call) -> Self {
        Self {
            id: call.id,
            request_id: call.request.clone(),
            session: call.session.clone(),
            task: call.task,
        }
    }
}

/// Creates the [`LiveView`] of an open call, with the questions that the principal may answer.
pub fn live_view(call: &Call, principal: &Principal) -> LiveView {
    let asks = call.open_asks(principal);
    LiveView {
        id: call.id,
        state: if asks.is_empty() {
            TaskState::Working
        } else {
            TaskState::InputRequired
        },
        agent: call.addressed.clone(),
        caller: call.principal.label().to_owned(),
        door: call.door,
        session: call.session.clone(),
        request_id: call.request.clone(),
        parent: call.parent().map(|parent| parent.task_id()),
        asks,
        approvals: approvals_view(call),
    }
}

/// Creates the [`WaitingView`] of a call that waits for a decision of the principal.
pub fn waiting_view(call: &Call, principal: &Principal) -> WaitingView {
    WaitingView {
        id: call.id,
        task: call.task,
        agent: call.target.clone(),
        caller: call.principal.label().to_owned(),
        door: call.door,
        asks: call.decisions(principal),
    }
}

fn approvals_view(call: &Call) -> Vec<ApprovalView> {
    call.approvals().into_iter().map(Into::into).collect()
}
