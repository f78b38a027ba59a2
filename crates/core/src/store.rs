//! What the core needs of durable storage, and the records it keeps there. `jackfield-store` implements it on SQLite;
//! [`memory::MemoryStore`] implements it for hubs that live only as long as their process.
//!
//! Every method returns at once. A [`Receipt`] resolves when the work is committed, so that a caller may wait for it,
//! or not. Writes are carried out in the order in which they were handed over.

mod log;
pub mod memory;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub use self::log::{LogItem, LogRow};
use crate::{
    agent::{Profile, Settings, Share},
    event::{Answer, Ask, Event, Json, Message},
    failure::Failure,
    id::{AgentId, CallId, CallbackId, Owner, RequestId, SessionId, TaskId, TokenId},
    outbox::{Callback, Follower, NewCallback, OutboxRow, Settled},
    principal::Whose,
    task::Once,
    team::{TeamRecord, board::BoardTask},
    units::Span,
};

/// Why the store could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The database said no.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// Resolves when the store has committed a write or carried out a read.
#[derive(Debug)]
pub struct Receipt<T = ()>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Receipt<T> {
    /// The two ends: the store keeps the sender.
    pub fn pair() -> (oneshot::Sender<Result<T, StoreError>>, Self) {
        let (tx, rx) = oneshot::channel();
        (tx, Self(rx))
    }

    /// A receipt for work that is already done.
    pub fn ready(result: Result<T, StoreError>) -> Self {
        let (tx, receipt) = Self::pair();
        // The receiver is alive: it is returned right here.
        drop(tx.send(result));
        receipt
    }

    /// Waits on a thread that may block; for start-up and tools.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl<T> Future for Receipt<T> {
    type Output = Result<T, StoreError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|result| result.unwrap_or(Err(StoreError::Closed)))
    }
}

/// What is kept of an agent while it is away.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRecord {
    /// Its id.
    pub id: AgentId,
    /// Whose it is, since its first registration.
    pub owner: Owner,
    /// Which door it last came through.
    pub door: String,
    /// What it says of itself.
    pub profile: Profile,
    /// Who else may see and call it.
    pub share: Share,
    /// What its owner or the operator set for it.
    pub settings: Settings,
    /// When it first registered.
    pub registered_at: Timestamp,
    /// SHA-256 of the token with which its last connection may be resumed: see [`crate::resume`].
    pub resume: Option<[u8; 32]>,
}

/// An agent that the hub dials, as the operator described it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteRecord {
    /// The agent's id.
    pub id: AgentId,
    /// Whose it is.
    pub owner: Owner,
    /// Which door dials it.
    pub door: String,
    /// What that door needs to know: no secrets.
    pub spec: Json,
    /// When it was added.
    pub added_at: Timestamp,
}

/// What is kept of a peer of the p2p door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRecord {
    /// Its peer id.
    pub id: String,
    /// The address by which a connection with it is kept, if one is.
    pub address: Option<String>,
    /// Whether it is refused.
    pub is_blocked: bool,
    /// When it was last known to be here with agents, if it ever brought any that are not forgotten.
    pub seen_at: Option<Timestamp>,
}

/// A token as it is kept: never the token itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenRecord {
    /// Its public id.
    pub id: TokenId,
    /// A name for people.
    pub name: String,
    /// Whose it is.
    pub owner: Owner,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// What it may do, as written.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

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
    /// Whether the current message was written to the agent; if so it is never written again.
    pub sent: bool,
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
}

/// An unfinished task that was opened again after a restart, with what its log says of the turn that was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct Reopened {
    /// The task, its epoch raised.
    pub record: TaskRecord,
    /// The messages of all turns.
    pub messages: Vec<Message>,
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
    /// Puts together what is known of a task: its record, and the rows of its log in order. Of those that are neither
    /// messages nor questions nor answers, only the last one that has a number matters.
    pub fn new(record: TaskRecord, rows: impl IntoIterator<Item = LogRow>) -> Self {
        let mut reopened = Self {
            record,
            messages: Vec::new(),
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
                    reopened.messages.push(message);
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

/// Which callbacks to list.
#[derive(Debug, Clone, Default)]
pub struct CallbackFilter {
    /// Only those of their tasks.
    pub whose: Whose,
    /// Only those that were given up; otherwise those that are still tried too.
    pub dead_only: bool,
    /// At most so many, newest first.
    pub limit: usize,
}

/// Durable storage.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// All agents ever registered, at start.
    fn load_agents(&self) -> Receipt<Vec<AgentRecord>>;
    /// Writes an agent, new or changed; synced to disk, since it says who owns the id.
    fn save_agent(&self, record: AgentRecord) -> Receipt;
    /// Forgets an agent, who owned it, and how it is dialled; of a team, its members and its board too.
    fn remove_agent(&self, id: AgentId) -> Receipt;

    /// All agents that are dialled, by id, at start.
    fn load_remotes(&self) -> Receipt<Vec<RemoteRecord>>;
    /// Writes how an agent is dialled, anew or changed; synced to disk. [`Store::remove_agent`] forgets it.
    fn save_remote(&self, record: RemoteRecord) -> Receipt;

    /// All peers that something is kept of, by id, at start.
    fn load_peers(&self) -> Receipt<Vec<PeerRecord>>;
    /// Writes what is kept of a peer, new or changed; synced to disk.
    fn save_peer(&self, record: PeerRecord) -> Receipt;
    /// Forgets a peer.
    fn remove_peer(&self, id: String) -> Receipt;

    /// All teams, by id, each with its board in the order in which the tasks were first written; at start.
    fn load_teams(&self) -> Receipt<Vec<TeamRecord>>;
    /// Writes a team, new or changed, but not its board, which stays as it is; synced to disk. [`Store::remove_agent`]
    /// forgets it.
    fn save_team(&self, record: TeamRecord) -> Receipt;
    /// Writes tasks of a team's board, new or changed, and leaves its others alone; synced to disk. Nothing happens if
    /// there is no such team.
    fn save_team_tasks(&self, team: AgentId, tasks: Vec<BoardTask>) -> Receipt;

    /// All tokens, at start.
    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>>;
    /// Writes a token, new or changed; synced to disk.
    fn save_token(&self, record: TokenRecord) -> Receipt;

    /// Opens every unfinished task again after a restart: raises its epoch and returns it with what its log says.
    fn reopen_tasks(&self) -> Receipt<Vec<Reopened>>;
    /// Writes a task, new or changed, together with rows of its log and what is to be told of them, in one transaction;
    /// `sync` waits for the disk.
    fn save_task(
        &self,
        record: TaskRecord,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        sync: bool,
    ) -> Receipt;
    /// Appends to a task's log in the next batch, moves its `log_end`, and puts what is to be told of it into the outbox,
    /// in one transaction.
    fn append(&self, task: TaskId, rows: Vec<LogRow>, told: Vec<NewCallback>) -> Receipt;
    /// Reads a task.
    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>>;
    /// Lists tasks, newest first by what their order goes by.
    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>>;
    /// How many tasks a list would have without its limit, from its first page to its last.
    fn count_tasks(&self, filter: TaskFilter) -> Receipt<usize>;
    /// Reads a task's log from the row that contains `from`, at most about `max` bytes.
    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>>;
    /// Removes finished tasks that ended before `before`, then the oldest finished ones until all logs fit into `total`
    /// bytes. Never one whose callback is pending; one whose callback was given up is old when that was before `before`.
    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize>;

    /// The callbacks that may be tried now, oldest first, at most [`crate::outbox::PER_ORIGIN`] to each destination, and
    /// of each lane only the first that is pending. One that is being delivered is due until it is settled.
    fn due_callbacks(&self, now: Timestamp, limit: usize) -> Receipt<Vec<OutboxRow>>;
    /// When the next callback that is not due yet will be; one that others of its lane come before is not waited for.
    fn next_callback(&self, after: Timestamp) -> Receipt<Option<Timestamp>>;
    /// Writes down what became of a try; synced to disk. Nothing happens to one that is not there any more.
    fn settle_callback(&self, id: CallbackId, how: Settled) -> Receipt;
    /// What [`NewCallback::reply`] was; empty for a callback that is not there any more.
    fn callback_reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>>;
    /// Lists callbacks that were not delivered, newest first.
    fn list_callbacks(&self, filter: CallbackFilter) -> Receipt<Vec<OutboxRow>>;
    /// Makes the dead callbacks of a task pending again, as if it had just ended. False if it has none.
    fn resend_callbacks(&self, task: TaskId) -> Receipt<bool>;
    /// Forgets the callbacks of a lane of a task's, pending or dead; synced to disk.
    fn drop_lane(&self, task: TaskId, lane: String) -> Receipt;
}
