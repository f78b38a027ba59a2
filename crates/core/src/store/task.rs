//! [`TaskRecord`], a task as the store keeps it; [`Reopened`], a task after a restart; [`TaskFilter`], a
//! query for tasks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::log::{LogItem, LogRow};
use jackfield_model::{
    AgentId, Answer, Ask, CallId, Event, Failure, Json, Message, Reason, RequestId, SessionId,
    TaskId, TokenId,
};

use crate::{
    outbox::{Callback, Follower},
    principal::Whose,
    task::IdempotencyKey,
    units::Span,
};

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = State))]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted; not yet delivered to the agent.
    Submitted,
    /// The agent has the message.
    Working,
    /// The agent waits for an answer or another message.
    InputRequired,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
    /// The agent refused the task.
    Rejected,
}

impl TaskState {
    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
        }
    }

    /// Reads a state from its [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        use TaskState::{
            Cancelled, Completed, Failed, InputRequired, Rejected, Submitted, Working,
        };
        [
            Submitted,
            Working,
            InputRequired,
            Completed,
            Failed,
            Cancelled,
            Rejected,
        ]
        .into_iter()
        .find(|state| state.name() == name)
    }

    /// Whether the state is final.
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired => false,
        }
    }
}

/// Stored state of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// Id of the task.
    pub id: TaskId,
    /// Current or last call of the task.
    pub call: CallId,
    /// [`Principal::key`](crate::principal::Principal::key) of the principal that started the task.
    pub principal: String,
    /// Token that sent the last message, if a token was needed.
    pub token: Option<TokenId>,
    /// Caller, as the agent sees it.
    pub caller: String,
    /// Door of the caller.
    pub door: String,
    /// Agent that was called.
    pub agent: AgentId,
    /// Session, as the caller names it.
    pub session: SessionId,
    /// Request id, as the agent sees it.
    pub request: RequestId,
    /// Task or live call that the call was made for, if known.
    pub parent: Option<TaskId>,
    /// State of the task.
    pub state: TaskState,
    /// Whether the task waits for credentials, with [`TaskState::InputRequired`].
    pub needs_auth: bool,
    /// Whether the current message was delivered to the agent; if so, it is never delivered again.
    pub sent: bool,
    /// Time at which the agent got the message of the current or last turn.
    pub sent_at: Option<Timestamp>,
    /// Whether somebody cancelled the current turn. Written before the agent is told, so that a hub that is killed
    /// meanwhile does not deliver the message again.
    pub cancelling: bool,
    /// Door-specific handle for finding the remote work on the message again, while the work goes on or the
    /// agent waits for the next message.
    pub handle: Option<Json>,
    /// Number of restarts that reopened the task unfinished. Cursors of older epochs get a gap.
    pub epoch: u32,
    /// One past the position of the last event.
    pub log_end: u64,
    /// Time at which the task was accepted.
    pub created_at: Timestamp,
    /// Time of the last change of the state, or of what the task waits for. Events of the agent do not count.
    pub updated_at: Timestamp,
    /// Time until which the task waits for its agent to come online.
    pub wait_until: Option<Timestamp>,
    /// Failure of the task.
    pub failure: Option<Failure>,
    /// Callback for the end of the task.
    pub callback: Option<Callback>,
    /// Followers, which are told every change.
    pub followers: Vec<Follower>,
    /// Idempotency key of the last turn's message.
    pub once: Option<IdempotencyKey>,
    /// Longest time without any reader, if bounded.
    pub unread: Option<Span>,
    /// Context of the hub's [`Resolver`](crate::resolver::Resolver), by the resolver's name. Opaque to the
    /// store.
    pub context: BTreeMap<String, Json>,
}

impl TaskRecord {
    /// Whether the turn is over and the agent waits for another message: no call is open.
    pub fn waits_for_message(&self) -> bool {
        self.state == TaskState::InputRequired && !self.sent
    }
}

/// An unfinished task after a restart, with the turn that was cut off, as its log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reopened {
    /// Record of the task, with a raised epoch.
    pub record: TaskRecord,
    /// Message of the turn; `None` if the log was not kept.
    pub message: Option<Message>,
    /// Position of the message in the log.
    pub turn: u64,
    /// Whether the log has anything of the turn besides the message.
    pub has_reply: bool,
    /// Number of the agent's last frame in the turn.
    pub seq: Option<u64>,
    /// Unanswered questions of the turn.
    pub asks: Vec<Ask>,
    /// Answers of the turn, by question id.
    pub answers: Vec<(String, Answer)>,
}

impl Reopened {
    /// Builds the state of a task from its record and the rows of its log in order, at least those of the
    /// last turn. Of rows that are neither messages nor questions nor answers, only the last numbered one
    /// matters.
    pub fn new(record: TaskRecord, rows: impl IntoIterator<Item = LogRow>) -> Self {
        let mut reopened = Self {
            record,
            message: None,
            turn: 0,
            has_reply: false,
            seq: None,
            asks: Vec::new(),
            answers: Vec::new(),
        };
        for row in rows {
            reopened.seq = row.seq.or(reopened.seq);
            match row.item {
                LogItem::Message(message) => {
                    reopened.message = Some(message);
                    reopened.turn = row.pos;
                    reopened.has_reply = reopened.record.log_end > row.pos + 1;
                    reopened.seq = row.seq;
                    reopened.asks.clear();
                    reopened.answers.clear();
                }
                LogItem::Event(Event::Ask(ask)) => reopened.asks.push(ask),
                LogItem::Answer(id, answer) => {
                    reopened.asks.retain(|ask| ask.id != id);
                    reopened.answers.push((id, answer));
                }
                LogItem::Event(_) | LogItem::End(_) => {}
            }
        }
        reopened
    }
}

/// Order of a list of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskOrder {
    /// By time of acceptance, newest first.
    #[default]
    Created,
    /// By time of the last change of state, newest first; then by time of acceptance.
    Updated,
}

/// Filter for [`Store::list_tasks`](super::Store::list_tasks).
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Owner of the tasks.
    pub whose: Whose,
    /// Agent that was called.
    pub agent: Option<AgentId>,
    /// Request id, as the agent sees it.
    pub request: Option<RequestId>,
    /// Session.
    pub session: Option<SessionId>,
    /// State of the tasks.
    pub state: Option<TaskState>,
    /// With `state`: whether the tasks wait for credentials.
    pub needs_auth: Option<bool>,
    /// With `state`: also includes tasks that failed for one of these reasons, which some protocols name
    /// differently.
    pub or_failed: Vec<Reason>,
    /// With `state`: excludes tasks that failed for one of these reasons.
    pub not_failed: Vec<Reason>,
    /// Key of the last message's [`IdempotencyKey`].
    pub once: Option<String>,
    /// Earliest time of the last change of state.
    pub updated_since: Option<Timestamp>,
    /// Order of the list.
    pub order: TaskOrder,
    /// Includes only tasks older than this one: the next page.
    pub before: Option<TaskId>,
    /// Includes only tasks after the task that changed at this time: the next page in the order of
    /// [`TaskOrder::Updated`].
    pub before_update: Option<(Timestamp, TaskId)>,
    /// Largest number of tasks.
    pub limit: usize,
}

impl TaskFilter {
    /// Whether the state of `task` matches the filter.
    pub(crate) fn has_state_of(&self, task: &TaskRecord) -> bool {
        let Some(state) = self.state else {
            return true;
        };
        let failed_for = |reasons: &[Reason]| {
            let failure = task.failure.as_ref();
            task.state == TaskState::Failed
                && failure.is_some_and(|it| reasons.contains(&it.reason))
        };
        let waits_so = self.needs_auth.is_none_or(|it| it == task.needs_auth);
        (task.state == state && waits_so && !failed_for(&self.not_failed))
            || failed_for(&self.or_failed)
    }
}
