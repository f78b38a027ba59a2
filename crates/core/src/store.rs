//! [`Store`]: the durable storage that the core needs, and the records in it. `jackfield-store` implements it on SQLite; [`memory::MemoryStore`] implements it for hubs that live only as long as their process.
//!
//! Every method returns at once. A [`Receipt`] resolves when the work is committed; callers may wait for it
//! or not. Writes are carried out in the order of the calls.

mod log;
pub mod memory;
mod receipt;
mod task;

use jiff::Timestamp;

pub use self::{
    log::{LogItem, LogRow},
    receipt::{Receipt, StoreError},
    task::{Reopened, TaskFilter, TaskOrder, TaskRecord, TaskState},
};
use jackfield_model::{AgentId, CallbackId, Json, Owner, TaskId, TokenId};

use crate::{
    agent::{Profile, Settings, Share},
    outbox::{NewCallback, OutboxRow, Settled},
    principal::Whose,
};

/// Stored state of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRecord {
    /// Id of the agent.
    pub id: AgentId,
    /// Owner of the agent, set at its first registration.
    pub owner: Owner,
    /// Door of the agent's last connection.
    pub door: String,
    /// Profile that the agent gave.
    pub profile: Profile,
    /// Principals besides the owner that may see and call the agent.
    pub share: Share,
    /// Settings by the owner or the operator.
    pub settings: Settings,
    /// Time of the first registration.
    pub registered_at: Timestamp,
    /// SHA-256 of the token for resuming the last connection: see [`crate::resume`].
    pub resume: Option<[u8; 32]>,
}

/// A record of a door. Opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoorRecord {
    /// Door, or other part of the hub, that owns the record.
    pub door: String,
    /// Agent that the record is about; the store forgets the record with the agent. `None` for a record about
    /// no agent.
    pub agent: Option<AgentId>,
    /// Key of the record among the door's records for this agent.
    pub key: String,
    /// Content of the record.
    pub value: Json,
}

/// Name of a [`DoorRecord`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKey {
    /// See [`DoorRecord::door`].
    pub door: String,
    /// See [`DoorRecord::agent`].
    pub agent: Option<AgentId>,
    /// See [`DoorRecord::key`].
    pub key: String,
}

/// Stored state of a token; never the token itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenRecord {
    /// Public id of the token.
    pub id: TokenId,
    /// Name for people.
    pub name: String,
    /// Owner of the token.
    pub owner: Owner,
    /// Agent of the owner that the token stands for; the owner if absent.
    pub agent: Option<AgentId>,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// Scopes of the token, as text.
    pub scopes: Vec<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time at which the token expires.
    pub expires_at: Option<Timestamp>,
    /// Time at which the token was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Filter for [`Store::list_callbacks`].
#[derive(Debug, Clone, Default)]
pub struct CallbackFilter {
    /// Owner of the tasks.
    pub whose: Whose,
    /// Whether only callbacks that were given up are listed; otherwise pending ones too.
    pub dead_only: bool,
    /// Largest number of callbacks, newest first.
    pub limit: usize,
}

/// Durable storage.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Checks that the store can write, by a small write that leaves nothing behind.
    fn probe(&self) -> Receipt;

    /// Loads all registered agents, at start.
    fn load_agents(&self) -> Receipt<Vec<AgentRecord>>;
    /// Writes an agent, new or changed; synced to disk, since the record says who owns the id.
    fn save_agent(&self, record: AgentRecord) -> Receipt;
    /// Forgets an agent, its owner, and the records of doors for it.
    fn remove_agent(&self, id: AgentId) -> Receipt;

    /// Loads all records of a door, at start: first those about no agent, then by agent. Records of one agent
    /// are in the order of their first write.
    fn load_records(&self, door: &str) -> Receipt<Vec<DoorRecord>>;
    /// Writes records of doors, new or changed, in one transaction, and leaves other records alone; `sync`
    /// waits for the disk. Records for unknown agents are not written. [`Store::remove_agent`] forgets the
    /// records of the agent.
    fn save_records(&self, records: Vec<DoorRecord>, sync: bool) -> Receipt;
    /// Forgets records of doors in one transaction; `sync` waits for the disk. Ignores unknown records.
    fn remove_records(&self, keys: Vec<RecordKey>, sync: bool) -> Receipt;

    /// Loads all tokens, at start.
    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>>;
    /// Writes a token, new or changed; synced to disk.
    fn save_token(&self, record: TokenRecord) -> Receipt;
    /// Forgets a token; synced to disk.
    fn remove_token(&self, id: TokenId) -> Receipt;

    /// Reopens every unfinished task after a restart: raises its epoch and returns it. Tasks that wait for
    /// their next message are not returned, since nothing has to be resumed.
    fn reopen_tasks(&self) -> Receipt<Vec<TaskRecord>>;
    /// Reads the last turn of a reopened task from its log. One task at a time: messages may be large, and
    /// tasks many.
    fn read_turn(&self, record: TaskRecord) -> Receipt<Reopened>;
    /// Writes a task, new or changed, together with rows of its log and their callbacks, in one transaction;
    /// `sync` waits for the disk.
    fn save_task(
        &self,
        record: TaskRecord,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        sync: bool,
    ) -> Receipt;
    /// Appends to the log of a task in the next batch, moves the task's `log_end`, and puts the callbacks
    /// into the outbox, in one transaction.
    fn append(&self, task: TaskId, rows: Vec<LogRow>, told: Vec<NewCallback>) -> Receipt;
    /// Commits the waiting appends at once. The store may otherwise delay them for a moment, to commit several together.
    fn commit_appends(&self) {}
    /// Reads a task.
    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>>;
    /// Lists tasks, newest first by [`TaskFilter::order`].
    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>>;
    /// Counts the tasks of a list without its limit, from its first page to its last.
    fn count_tasks(&self, filter: TaskFilter) -> Receipt<usize>;
    /// Reads the log of a task from the row that contains `from`, at most about `max` bytes.
    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>>;
    /// Removes finished tasks that ended before `before`, and tasks that have waited for their next message
    /// since then; then the oldest finished tasks until the logs of all finished tasks fit into `total`
    /// bytes. Never removes a task with a pending callback; a task whose callback was given up counts from
    /// that time.
    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize>;

    /// Lists the callbacks that may be tried now, oldest first, at most
    /// [`PER_ORIGIN`](crate::outbox::PER_ORIGIN) per destination, and only the first pending one of each
    /// lane. A callback stays due until it is settled.
    fn due_callbacks(&self, now: Timestamp, limit: usize) -> Receipt<Vec<OutboxRow>>;
    /// Returns when the next callback becomes due. Callbacks behind others of their lane do not count.
    fn next_callback(&self, after: Timestamp) -> Receipt<Option<Timestamp>>;
    /// Writes the result of a delivery attempt; synced to disk. Ignores unknown callbacks.
    fn settle_callback(&self, id: CallbackId, how: Settled) -> Receipt;
    /// Returns the callback's [`NewCallback::reply`]; empty for an unknown callback.
    fn callback_reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>>;
    /// Lists undelivered callbacks, newest first.
    fn list_callbacks(&self, filter: CallbackFilter) -> Receipt<Vec<OutboxRow>>;
    /// Makes the dead callbacks of a task pending again, as if the task had just ended. Returns false if the
    /// task has none.
    fn resend_callbacks(&self, task: TaskId) -> Receipt<bool>;
    /// Forgets the callbacks of a task in one lane, pending or dead; synced to disk.
    fn drop_lane(&self, task: TaskId, lane: String) -> Receipt;
    /// Forgets the callbacks that these tokens asked for, pending or dead, and keeps the tasks from making
    /// more of them; synced to disk.
    fn drop_callbacks(&self, tokens: Vec<TokenId>) -> Receipt;
}
