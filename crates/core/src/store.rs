//! What the core needs of durable storage, and the records it keeps there. `jackfield-store` implements it on SQLite;
//! [`memory::MemoryStore`] implements it for hubs that live only as long as their process.
//!
//! Every method returns at once. A [`Receipt`] resolves when the work is committed, so that a caller may wait for it,
//! or not. Writes are carried out in the order in which they were handed over.

pub mod memory;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::{
    agent::{Profile, Settings, Share},
    event::{Answer, Done, End, Event, ITEM_OVERHEAD, Message},
    failure::{Failure, Reason},
    id::{AgentId, CallId, Owner, RequestId, SessionId, TaskId, TokenId},
    pipe::Item,
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
    /// When something last happened.
    pub updated_at: Timestamp,
    /// How long it may wait for its agent to come online.
    pub wait_until: Option<Timestamp>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// What one row of a task's log says.
#[derive(Debug, Clone, PartialEq)]
pub enum LogItem {
    /// The caller's message that opens a turn.
    Message(Message),
    /// What the agent said.
    Event(Event),
    /// The answer to an ask, by the ask's id.
    Answer(String, Answer),
    /// How the turn ended.
    End(End),
}

#[derive(Serialize, Deserialize)]
struct AnswerBody {
    ask_id: String,
    answer: Answer,
}

#[derive(Serialize, Deserialize)]
struct FailureBody {
    reason: String,
    text: String,
}

impl LogItem {
    /// The kind and the body, as they are kept.
    pub fn to_row(&self) -> Result<(&'static str, String), serde_json::Error> {
        Ok(match self {
            Self::Message(message) => ("message", serde_json::to_string(message)?),
            Self::Event(event) => (event.kind(), event.body()?),
            Self::Answer(ask_id, answer) => (
                "answer",
                serde_json::to_string(&AnswerBody {
                    ask_id: ask_id.clone(),
                    answer: answer.clone(),
                })?,
            ),
            Self::End(End::Done(done)) => ("done", serde_json::to_string(done)?),
            Self::End(End::Failed(failure)) => {
                let body = FailureBody {
                    reason: failure.reason.name().to_owned(),
                    text: failure.text.to_string(),
                };
                ("failed", serde_json::to_string(&body)?)
            }
            Self::End(End::Cancelled) => ("cancelled", "{}".to_owned()),
        })
    }

    /// Reads a row back.
    pub fn from_row(kind: &str, body: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            "message" => Self::Message(serde_json::from_str(body)?),
            "answer" => {
                let AnswerBody { ask_id, answer } = serde_json::from_str(body)?;
                Self::Answer(ask_id, answer)
            }
            "done" => Self::End(End::Done(Box::new(serde_json::from_str::<Done>(body)?))),
            "failed" => {
                let FailureBody { reason, text } = serde_json::from_str(body)?;
                Self::End(End::Failed(Failure::new(Reason::from_name(&reason), text)))
            }
            "cancelled" => Self::End(End::Cancelled),
            event => Self::Event(Event::from_log(event, body)?),
        })
    }

    /// By how much it advances a cursor.
    pub fn advance(&self) -> u64 {
        match self {
            Self::Event(event) => event.advance(),
            Self::Message(_) | Self::Answer(..) | Self::End(_) => 1,
        }
    }

    /// Its size, for rings and batches.
    pub fn weight(&self) -> usize {
        match self {
            Self::Event(event) => event.weight(),
            Self::Message(message) => ITEM_OVERHEAD + message.weight(),
            Self::Answer(_, answer) => ITEM_OVERHEAD + answer.weight(),
            Self::End(End::Done(done)) => ITEM_OVERHEAD + done.weight(),
            Self::End(_) => ITEM_OVERHEAD,
        }
    }
}

/// One row of a task's log. Text rows may be merged by the store; then `pos` is that of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// The position of its first byte (text) or of itself.
    pub pos: u64,
    /// The agent's own number of the last frame in it, where its protocol numbers frames.
    pub seq: Option<u64>,
    /// What it says.
    pub item: LogItem,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only those of this principal, and of principals below it (an owner's agents).
    pub principal: Option<String>,
    /// Only those of exactly this principal.
    pub exactly: bool,
    /// Only those for this agent.
    pub agent: Option<AgentId>,
    /// Only those in this conversation.
    pub session: Option<SessionId>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those older than this task: the next page.
    pub before: Option<TaskId>,
    /// At most so many, newest first.
    pub limit: usize,
}

/// Durable storage.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// All agents ever registered, at start.
    fn load_agents(&self) -> Receipt<Vec<AgentRecord>>;
    /// Writes an agent, new or changed; synced to disk, since it says who owns the id.
    fn save_agent(&self, record: AgentRecord) -> Receipt;
    /// Forgets an agent and who owned it.
    fn remove_agent(&self, id: AgentId) -> Receipt;

    /// All tokens, at start.
    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>>;
    /// Writes a token, new or changed; synced to disk.
    fn save_token(&self, record: TokenRecord) -> Receipt;

    /// Opens every unfinished task again after a restart: raises its epoch and returns it with its log's messages.
    fn reopen_tasks(&self) -> Receipt<Vec<(TaskRecord, Vec<Message>)>>;
    /// Writes a task, new or changed, together with rows of its log, in one transaction; `sync` waits for the disk.
    fn save_task(&self, record: TaskRecord, rows: Vec<LogRow>, sync: bool) -> Receipt;
    /// Appends to a task's log in the next batch, and moves its `log_end`.
    fn append(&self, task: TaskId, rows: Vec<LogRow>) -> Receipt;
    /// Reads a task.
    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>>;
    /// Lists tasks, newest first.
    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>>;
    /// Reads a task's log from the row that contains `from`, at most about `max` bytes.
    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>>;
    /// Removes finished tasks that ended before `before`, then the oldest finished ones until all logs fit into `total` bytes.
    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_as_they_were() {
        let items = [
            LogItem::Message(Message::text("hi")),
            LogItem::Event(Event::text("there")),
            LogItem::Answer(
                "q".into(),
                Answer {
                    approved: Some(true),
                    ..Answer::default()
                },
            ),
            LogItem::End(End::done()),
            LogItem::End(End::Cancelled),
            LogItem::End(End::Failed(Failure::new(
                Reason::Agent("quota".into()),
                "no more",
            ))),
            LogItem::End(End::Failed(Failure::new(Reason::Timeout, "late"))),
        ];
        for item in items {
            let (kind, body) = item.to_row().unwrap();
            assert_eq!(LogItem::from_row(kind, &body).unwrap(), item);
        }
    }
}
