//! Tasks as they are kept, as they are opened again after a restart, and as they are looked for.

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
    task::Once,
    units::Span,
};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
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

impl TaskState {
    /// Its name.
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

    /// Reads the name back.
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

    /// Whether nothing more can happen to it.
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired => false,
        }
    }
}

/// A task as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// Its id.
    pub id: TaskId,
    /// Its current (or last) call.
    pub call: CallId,
    /// Whose it is: [`crate::principal::Principal::key`].
    pub principal: String,
    /// The token with which its last message was sent; none for somebody who needs none.
    pub token: Option<TokenId>,
    /// How the agent sees the caller.
    pub caller: String,
    /// The door the caller came through.
    pub door: String,
    /// The agent that was called.
    pub agent: AgentId,
    /// The conversation, as the caller names it.
    pub session: SessionId,
    /// The request, as the agent sees it.
    pub request: RequestId,
    /// What its call was made for, if known: a task, or a call that nobody keeps.
    pub parent: Option<TaskId>,
    /// Where it stands.
    pub state: TaskState,
    /// Whether what it waits for are credentials, with [`TaskState::InputRequired`].
    pub needs_auth: bool,
    /// Whether the current message was written to the agent; if so it is never written again.
    pub sent: bool,
    /// When the agent got the message of the current or last turn; none if it has not.
    pub sent_at: Option<Timestamp>,
    /// By what the agent's door finds the work on that message again, as long as it goes on or the agent waits for the
    /// next message.
    pub handle: Option<Json>,
    /// Rises when an unfinished task is opened again after a restart; cursors of older epochs get a gap.
    pub epoch: u32,
    /// One past the position of its last event.
    pub log_end: u64,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When its state last changed, or what it waits for. What the agent says meanwhile does not count.
    pub updated_at: Timestamp,
    /// How long it may wait for its agent to come online.
    pub wait_until: Option<Timestamp>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Whom to tell when it is over.
    pub callback: Option<Callback>,
    /// Whom to tell of every change.
    pub followers: Vec<Follower>,
    /// By what a repetition of the message of its last turn is known.
    pub once: Option<Once>,
    /// How long it goes on without any reader, where that is bounded.
    pub unread: Option<Span>,
    /// What the hub's [`Resolver`](crate::resolver::Resolver) keeps with it, by the resolver's name. Opaque to the store.
    pub context: BTreeMap<String, Json>,
}

impl TaskRecord {
    /// Whether its turn is over and its agent waits for another message: nobody works on it.
    pub fn waits_for_message(&self) -> bool {
        self.state == TaskState::InputRequired && !self.sent
    }
}

/// An unfinished task that was opened again after a restart, with what its log says of the turn that was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct Reopened {
    /// The task, its epoch raised.
    pub record: TaskRecord,
    /// The message of this turn. None if the log was not kept.
    pub message: Option<Message>,
    /// Where the message of this turn stands in the log.
    pub turn: u64,
    /// Whether the log has anything of this turn but the message.
    pub has_reply: bool,
    /// The agent's number of its last frame in the log of this turn.
    pub seq: Option<u64>,
    /// The questions of this turn that nobody answered.
    pub asks: Vec<Ask>,
    /// The answers of this turn, by the id of their question.
    pub answers: Vec<(String, Answer)>,
}

impl Reopened {
    /// Puts together what is known of a task: its record, and the rows of its log in order, at least those of the last
    /// turn. Of those that are neither messages nor questions nor answers, only the last one that has a number matters.
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

/// In which order tasks are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskOrder {
    /// Those that were accepted last come first.
    #[default]
    Created,
    /// Those whose state changed last come first; of two that changed at once, the one accepted later.
    Updated,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only theirs.
    pub whose: Whose,
    /// Only those for this agent.
    pub agent: Option<AgentId>,
    /// Only those with this request id, as the agent sees it.
    pub request: Option<RequestId>,
    /// Only those in this conversation.
    pub session: Option<SessionId>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// With `state`: only those that wait for credentials, or only those that do not.
    pub needs_auth: Option<bool>,
    /// With `state`: those too that failed for one of these reasons, which some protocols call by another name.
    pub or_failed: Vec<Reason>,
    /// With `state`: none that failed for one of these reasons.
    pub not_failed: Vec<Reason>,
    /// Only those whose last message is known by this key; see [`Once`].
    pub once: Option<String>,
    /// Only those whose state changed at this time or later.
    pub updated_since: Option<Timestamp>,
    /// In which order.
    pub order: TaskOrder,
    /// Only those older than this task: the next page.
    pub before: Option<TaskId>,
    /// Only those that come after the one that changed at this time: the next page in the order of [`TaskOrder::Updated`].
    pub before_update: Option<(Timestamp, TaskId)>,
    /// At most so many.
    pub limit: usize,
}

impl TaskFilter {
    /// Whether a task stands where it is looked for.
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
