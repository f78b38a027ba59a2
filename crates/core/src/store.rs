//! What the core needs of durable storage, and the records it keeps there. `jackfield-store` implements it on SQLite;
//! [`memory::MemoryStore`] implements it for hubs that live only as long as their process.
//!
//! Every method returns at once. A [`Receipt`] resolves when the work is committed, so that a caller may wait for it,
//! or not. Writes are carried out in the order in which they were handed over.

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
use jackfield_model::{AgentId, CallbackId, Json, Offer, Owner, TaskId, TokenId};

use crate::{
    agent::{Profile, Settings, Share},
    outbox::{NewCallback, OutboxRow, Settled},
    principal::Whose,
    transfers::Toward,
};

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

/// A transfer as the book of transfers keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRecord {
    /// Under whose name it is in the book: the agent's, or an id that stands for it.
    pub name: AgentId,
    /// The agent.
    pub agent: AgentId,
    /// The caller, where it is an agent too.
    pub peer: Option<AgentId>,
    /// [`Principal::key`](crate::principal::Principal::key) of the caller.
    pub caller: String,
    /// Which way the archive goes.
    pub toward: Toward,
    /// The archive.
    pub offer: Offer,
    /// How long it is known.
    pub until: Timestamp,
}

/// Something that a door keeps for an agent of its own. The store does not look into it, and forgets it with the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoorRecord {
    /// Which door keeps it.
    pub door: String,
    /// For which agent.
    pub agent: AgentId,
    /// Which of the door's records for this agent it is.
    pub key: String,
    /// What is kept.
    pub value: Json,
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
    /// The one agent of the owner's that it stands for; without one it stands for the owner.
    pub agent: Option<AgentId>,
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
    /// Finds out whether the store can write, by a small write that leaves nothing behind.
    fn probe(&self) -> Receipt;

    /// All agents ever registered, at start.
    fn load_agents(&self) -> Receipt<Vec<AgentRecord>>;
    /// Writes an agent, new or changed; synced to disk, since it says who owns the id.
    fn save_agent(&self, record: AgentRecord) -> Receipt;
    /// Forgets an agent, who owned it, how it is dialled, and what doors keep for it.
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

    /// All transfers that are not over, the oldest first, at start.
    fn load_transfers(&self) -> Receipt<Vec<TransferRecord>>;
    /// Writes a transfer, new or changed, in the next batch; those that are over go. [`Store::remove_agent`] forgets those
    /// under its name.
    fn save_transfer(&self, record: TransferRecord) -> Receipt;
    /// Forgets a transfer under this name.
    fn remove_transfer(&self, name: AgentId, id: String) -> Receipt;

    /// All records of a door, by agent, those of each agent in the order in which they were first written; at start.
    fn load_records(&self, door: &str) -> Receipt<Vec<DoorRecord>>;
    /// Writes records of doors, new or changed, in one transaction, and leaves others alone; synced to disk. Records for an
    /// agent that is not known are not written. [`Store::remove_agent`] forgets them.
    fn save_records(&self, records: Vec<DoorRecord>) -> Receipt;

    /// All tokens, at start.
    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>>;
    /// Writes a token, new or changed; synced to disk.
    fn save_token(&self, record: TokenRecord) -> Receipt;
    /// Forgets a token; synced to disk.
    fn remove_token(&self, id: TokenId) -> Receipt;

    /// Opens every unfinished task again after a restart: raises its epoch and returns it. One that waits for its next
    /// message is not returned, since nobody has to go on with it.
    fn reopen_tasks(&self) -> Receipt<Vec<TaskRecord>>;
    /// Reads what the log of a task that was opened again says of its last turn. One task at a time: a message may be
    /// large, and there may be many tasks.
    fn read_turn(&self, record: TaskRecord) -> Receipt<Reopened>;
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
    /// Removes finished tasks that ended before `before`, and those that wait for their next message since then; then the
    /// oldest finished ones until the logs of all that are finished fit into `total` bytes. Never one whose callback is pending; one whose callback was given up is old when that was before `before`.
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
    /// Forgets the callbacks that these tokens asked for, pending or dead, and that their tasks should make more of them;
    /// synced to disk.
    fn drop_callbacks(&self, tokens: Vec<TokenId>) -> Receipt;
}
