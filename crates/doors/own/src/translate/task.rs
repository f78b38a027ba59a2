//! Calls and tasks as JSON: what stands in their record, and the shape of what is gathered from their events.

use jackfield_core::{
    call::{Approval, Call, Standing},
    principal::Principal,
    store::{TaskRecord, TaskState},
};
use jackfield_kit::api::ErrorView;
use jackfield_model::{
    AgentId, Answer, Artifact, Ask, CallId, DoneState, File, Json, Message, Part, RequestId,
    SessionId, TaskId, Transcript,
};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::OpenedView;

/// Where a call or a task stands.
#[derive(Debug, ToSchema)]
#[schema(as = State, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum StateView {
    /// Accepted; not yet written to the agent.
    Submitted,
    /// The agent has it.
    Working,
    /// The agent waits for an answer or another message.
    InputRequired,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
    /// The agent would not do it.
    Rejected,
}

/// A task: what is kept of one or more calls, one after another.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskSummary {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    id: TaskId,
    /// Its current or last call.
    #[schema(value_type = String, format = "uuid")]
    call: CallId,
    /// Where it stands.
    #[schema(value_type = StateView)]
    state: TaskState,
    /// The agent that was called.
    #[schema(value_type = String)]
    agent: AgentId,
    /// How the agent sees the caller.
    caller: String,
    /// The protocol that the caller came by.
    door: String,
    /// The conversation.
    #[schema(value_type = String)]
    session: SessionId,
    /// The request, as the agent sees it.
    #[schema(value_type = String)]
    request_id: RequestId,
    /// What its call was made for, if known: a task, or a call that nobody keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    parent: Option<TaskId>,
    /// When it was accepted.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When something last happened.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Until when it waits for its agent to come online.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    wait_until: Option<Timestamp>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    failure: Option<ErrorView>,
    /// The approvals that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    approvals: Vec<ApprovalView>,
}

/// An approval that a call waits for. Its state stays `working`: the caller has nothing to say.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalView {
    /// The id of the question: the `ask_id` of the answer.
    ask_id: String,
    /// Whose it is to give: the owner of the asking agent.
    owner: String,
    /// The tool that needs it.
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

/// A call that waits for a decision of yours: what it asks for, and no more.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WaitingCall)]
pub struct WaitingView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// The task that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    task: Option<TaskId>,
    /// The agent that asks.
    #[schema(value_type = String)]
    agent: AgentId,
    /// How the agent sees the caller.
    caller: String,
    /// The protocol that the caller came by.
    door: &'static str,
    /// The approvals that are yours to give.
    asks: Vec<Ask>,
}

/// Where an open call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Standing)]
#[serde(rename_all = "snake_case")]
pub enum StandingView {
    /// It waits for the agent to come online.
    Waiting,
    /// It waits for its turn: the agent takes one call of a conversation at a time.
    Queued,
    /// The agent has it.
    Working,
}

/// A call that is open at an agent of yours: who made it and since when it is open, not what it says.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OpenCall)]
pub struct OpenCallView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// The task that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    task: Option<TaskId>,
    /// The agent, or the team that was called.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Where it stands.
    state: StandingView,
    /// How the agent sees the caller.
    caller: String,
    /// The protocol that the caller came by.
    door: &'static str,
    /// When it was made.
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
                Standing::Waiting => StandingView::Waiting,
                Standing::Queued => StandingView::Queued,
                Standing::Working => StandingView::Working,
            },
            caller: call.principal.label().to_owned(),
            door: call.door,
            since: call.id.made_at(),
        }
    }
}

/// The calls that are open at an agent, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenCallList {
    /// The calls.
    pub calls: Vec<OpenCallView>,
}

/// Tasks, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskList {
    /// Calls that wait for a decision of yours, whoever made them, kept or not; on the first page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub waiting: Vec<WaitingView>,
    /// The tasks.
    pub tasks: Vec<TaskSummary>,
    /// What to give as `before` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    pub next: Option<TaskId>,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The caller.
    Caller,
    /// The agent.
    Agent,
}

/// One thing that was said in a task.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct HistoryItem {
    /// Who said it.
    pub(super) role: Role,
    /// What.
    pub(super) parts: Vec<Part>,
    /// The caller's own id of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) message_id: Option<String>,
    /// The question that it is, or that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) ask_id: Option<String>,
    /// Yes or no, to an approval.
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

    /// What the caller said.
    pub fn message(message: Message) -> Self {
        Self {
            message_id: message.id,
            ..Self::new(Role::Caller, message.parts)
        }
    }

    /// What the agent asked.
    pub fn asked(ask: Ask) -> Self {
        Self {
            ask_id: Some(ask.id),
            ..Self::new(Role::Agent, vec![Part::Text(ask.text)])
        }
    }

    /// The answer to a question.
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

/// A task with all that was said. It is written piece by piece, by `task_answer.rs`; this describes it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskView {
    /// Its record.
    #[serde(flatten)]
    pub(super) record: TaskSummary,
    /// The answer of the current or last turn, so far.
    pub(super) text: String,
    /// What the agent made.
    pub(super) artifacts: Vec<Artifact>,
    /// Files that came with the end of the last turn.
    pub(super) attachments: Vec<File>,
    /// Whether what the agent waits for are credentials.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(super) needs_auth: bool,
    /// Files that the agent offered with the end of the last turn, as it wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(super) file_transfer_offer: Option<Json>,
    /// What was said, in order.
    pub(super) history: Vec<HistoryItem>,
    /// Questions that the one who asks may answer now.
    pub(super) asks: Vec<Ask>,
    /// Whether some of the text, the artifacts or the history is left out: too large, or no longer kept.
    pub(super) truncated: bool,
    /// The event id from which to read on, as `after`.
    pub(super) cursor: String,
}

/// A call that is open and not kept: only its caller reads it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveCall)]
pub struct LiveView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    id: CallId,
    /// Where it stands.
    #[schema(value_type = StateView)]
    state: TaskState,
    /// The agent that was called.
    #[schema(value_type = String)]
    agent: AgentId,
    /// How the agent sees the caller.
    caller: String,
    /// The protocol that the caller came by.
    door: &'static str,
    /// The conversation.
    #[schema(value_type = String)]
    session: SessionId,
    /// The request, as the agent sees it.
    #[schema(value_type = String)]
    request_id: RequestId,
    /// The call for which it is made, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uuid", required = false)]
    parent: Option<TaskId>,
    /// Questions that the one who asks may answer now.
    asks: Vec<Ask>,
    /// The approvals that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    approvals: Vec<ApprovalView>,
}

/// A task, or a call that is open: one of yours that is not kept, or one that waits for you.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "life", rename_all = "snake_case")]
#[schema(as = Call)]
pub enum CallView {
    /// A task.
    #[serde(rename = "kept")]
    Task(Box<TaskView>),
    /// An open call.
    Live(LiveView),
    /// An open call of somebody else's that waits for a decision of yours.
    Waiting(WaitingView),
}

/// A call that was kept and goes on by itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct Detached {
    /// The task.
    #[schema(value_type = String, format = "uuid")]
    pub task: TaskId,
    /// Its call.
    #[schema(value_type = String, format = "uuid")]
    pub call: CallId,
    /// The conversation.
    #[schema(value_type = String)]
    pub session: SessionId,
}

/// The whole answer to a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallResult {
    /// Its names.
    #[serde(flatten)]
    pub(super) opened: OpenedView,
    /// Where it stands now.
    #[schema(value_type = StateView)]
    pub(super) state: TaskState,
    /// The words.
    pub(super) text: String,
    /// Whether what the agent waits for are credentials, where the state is `input_required`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(super) needs_auth: bool,
    /// What the agent made.
    pub(super) artifacts: Vec<Artifact>,
    /// Files that came with the end.
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

impl CallResult {
    /// The whole answer of a call that ended; `is_cancelled` if the agent did not finish it.
    pub fn new(transcript: Transcript, opened: OpenedView, is_cancelled: bool) -> Self {
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
            failure: record.failure.as_ref().map(ErrorView::from),
            approvals: Vec::new(),
        }
    }
}

impl TaskSummary {
    /// A task with what its open call waits for.
    pub fn new(record: TaskRecord, call: Option<&Call>) -> Self {
        Self {
            approvals: call.map(approvals_view).unwrap_or_default(),
            ..record.into()
        }
    }
}

impl From<&TaskRecord> for OpenedView {
    fn from(record: &TaskRecord) -> Self {
        Self {
            id: record.call,
            request_id: record.request.clone(),
            session: record.session.clone(),
            task: Some(record.id),
        }
    }
}

impl From<&Call> for OpenedView {
    fn from(call: &Call) -> Self {
        Self {
            id: call.id,
            request_id: call.request.clone(),
            session: call.session.clone(),
            task: call.task,
        }
    }
}

/// An open live call, with the questions that the principal may answer.
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

/// What a call asks of the principal, whose agent it is at.
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
