//! Kept calls: a task reads the reply, numbers the events, writes them to the log and serves any number of readers by
//! cursor, from memory and then from the log. Losing a reader changes nothing.

mod readers;
mod recorder;
mod reopen;
mod ring;
mod said;
mod start;
mod subscription;
mod tasks;

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use self::{readers::Readers, ring::Ring, said::Said};
pub use self::{
    subscription::{Subscription, TaskItem},
    tasks::Tasks,
};
use crate::{
    agent::Keep,
    call::Call,
    event::{Answer, DoneState, End},
    failure::{Failure, Reason},
    id::TaskId,
    outbox::{Callbacks, NewCallback, OutboxRow},
    store::{LogItem, LogRow, Receipt, Store, StoreError, TaskRecord, TaskState},
};

/// A place in a task's log: the next event to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Rises when an unfinished task is opened again after a restart.
    pub epoch: u32,
    /// The position within the log.
    pub pos: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.pos)
    }
}

impl std::str::FromStr for Cursor {
    type Err = Failure;
    fn from_str(text: &str) -> Result<Self, Failure> {
        let parse = || {
            let (epoch, pos) = text.split_once('-')?;
            Some(Self {
                epoch: epoch.parse().ok()?,
                pos: pos.parse().ok()?,
            })
        };
        parse().ok_or_else(|| {
            Failure::new(
                Reason::Invalid,
                "an event id has the form EPOCH-POSITION, such as 0-42",
            )
        })
    }
}

/// One task that is, or was, worked on since this process started.
#[derive(Debug)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    record: Mutex<TaskRecord>,
    keep: Keep,
    ring: Mutex<Ring>,
    /// One past the last position, and whether a call is running; readers wait for it to change.
    moved: watch::Sender<(u64, bool)>,
    call: Mutex<Weak<Call>>,
    /// Its end is on the way to the store: nothing comes after it. Changes under the record's lock.
    is_over: AtomicBool,
    readers: Readers,
    /// For the callback, where the log is not kept.
    said: Option<Mutex<Said>>,
    store: Arc<dyn Store>,
    callbacks: Callbacks,
}

impl Task {
    fn new(record: TaskRecord, keep: Keep, running: bool, tasks: &Tasks) -> Arc<Self> {
        let (moved, _) = watch::channel((record.log_end, running));
        let limits = &tasks.shared.limits;
        let is_said_once = keep != Keep::Full && record.callback.is_some();
        Arc::new(Self {
            id: record.id,
            ring: Mutex::new(Ring::new(record.log_end, limits.task_ring.0)),
            said: is_said_once.then(|| Mutex::new(Said::new(limits.message.0))),
            record: Mutex::new(record),
            keep,
            moved,
            call: Mutex::new(Weak::new()),
            is_over: AtomicBool::new(false),
            readers: Readers::default(),
            store: tasks.store.clone(),
            callbacks: tasks.callbacks.clone(),
        })
    }

    /// The record as it stands.
    pub fn record(&self) -> TaskRecord {
        let mut record = self.record.lock().clone();
        record.log_end = self.ring.lock().end();
        record
    }

    /// Its running call.
    pub fn call(&self) -> Option<Arc<Call>> {
        self.call.lock().upgrade()
    }

    /// Reads it from a cursor, or from the start of its log.
    pub fn subscribe(self: &Arc<Self>, after: Option<Cursor>) -> Subscription {
        Subscription::new(self.clone(), after)
    }

    /// Numbers items for the ring; the caller saves the rows and then shows them to the readers.
    fn number(&self, items: Vec<(LogItem, Option<u64>)>) -> Vec<LogRow> {
        self.ring.lock().number(items)
    }

    /// Lets readers see what is numbered.
    fn show(&self, running: bool) {
        let end = self.ring.lock().end();
        self.moved.send_replace((end, running));
    }

    /// Numbers items and hands them to the store and the readers.
    fn append(&self, items: Vec<(LogItem, Option<u64>)>) -> Option<Receipt> {
        if let Some(said) = &self.said {
            let mut said = said.lock();
            items.iter().for_each(|(item, _)| said.add(item));
        }
        let (receipt, end) = {
            let mut ring = self.ring.lock();
            let rows = ring.number(items);
            // Under the ring's lock, so that the store gets rows in the order of their numbers.
            let receipt = (self.keep == Keep::Full).then(|| self.store.append(self.id, rows));
            (receipt, ring.end())
        };
        self.moved.send_modify(|moved| moved.0 = moved.0.max(end));
        receipt
    }

    /// Changes the record and saves it; under its lock, so that the store gets changes in their order.
    fn update(&self, sync: bool, change: impl FnOnce(&mut TaskRecord)) -> Receipt {
        let mut record = self.record.lock();
        change(&mut record);
        record.updated_at = Timestamp::now();
        record.log_end = self.ring.lock().end();
        self.save(record.clone(), Vec::new(), sync)
    }

    /// Writes down the answer to an ask, unless the end came first.
    fn answered(&self, call: &Call, ask_id: &str, answer: Answer) {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        drop(self.append(vec![(LogItem::Answer(ask_id.to_owned(), answer), None)]));
        record.state = state_of(call);
        record.updated_at = Timestamp::now();
        record.log_end = self.ring.lock().end();
        // Nobody waits for it: the answer is in the pipe, and the log has it.
        drop(self.save(record.clone(), Vec::new(), false));
    }

    /// Whether nobody has read it for longer than it goes on without.
    fn is_given_up(&self, now: Instant) -> bool {
        let unread = self.record.lock().unread;
        unread.is_some_and(|unread| self.readers.gone_for(now) >= Some(unread.0))
    }

    /// Writes the end, with the agent's number of it, the final state and the callback in one commit. Nobody sees any of
    /// it before it is durable; if that fails, so has the task.
    async fn conclude(&self, end: End, seq: Option<u64>) -> Result<(), StoreError> {
        let (saved, is_told) = {
            let record = self.record.lock();
            self.is_over.store(true, Ordering::Relaxed);
            let pos = self.ring.lock().end();
            let row = LogRow {
                pos,
                seq,
                item: LogItem::End(end.clone()),
            };
            // One that waits for its next message was told of when its turn ended: each turn is told once.
            let is_waiting = record.state == TaskState::InputRequired && !record.sent;
            let mut record = record.clone();
            end_record(&mut record, &end);
            record.log_end = pos + row.item.advance();
            let callback = OutboxRow::of(&record).filter(|_| !is_waiting);
            let callback = callback.map(|row| NewCallback {
                row,
                reply: self.reply(&end),
            });
            let is_told = callback.is_some();
            (self.save_end(record, row, callback), is_told)
        };
        let result = saved.await;
        let end = match result {
            Ok(()) => end,
            Err(_) => End::Failed(not_written()),
        };
        end_record(&mut self.record.lock(), &end);
        self.number(vec![(LogItem::End(end), seq)]);
        *self.call.lock() = Weak::new();
        if is_told && result.is_ok() {
            self.callbacks.wake();
        }
        result
    }

    /// What the callback has to say by itself.
    fn reply(&self, end: &End) -> Vec<LogItem> {
        let said = self.said.as_ref();
        said.map_or_else(Vec::new, |said| said.lock().take(end.clone()))
    }

    /// Writes the end of a turn.
    fn save_end(&self, record: TaskRecord, end: LogRow, callback: Option<NewCallback>) -> Receipt {
        match self.keep {
            Keep::Full => self.store.end_turn(record, vec![end], callback),
            Keep::Meta => self.store.end_turn(record, Vec::new(), callback),
            Keep::None => Receipt::ready(Ok(())),
        }
    }

    /// Writes the record, and rows that belong to the same commit.
    fn save(&self, record: TaskRecord, rows: Vec<LogRow>, sync: bool) -> Receipt {
        match self.keep {
            Keep::Full => self.store.save_task(record, rows, sync),
            Keep::Meta => self.store.save_task(record, Vec::new(), sync),
            Keep::None => Receipt::ready(Ok(())),
        }
    }
}

pub(crate) fn no_such_task() -> Failure {
    Failure::new(Reason::NotFound, "no such task")
}

pub(crate) fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "the store failed");
    not_written()
}

/// What readers of a task are told that could not be written.
fn not_written() -> Failure {
    Failure::new(Reason::Internal, "the hub's store failed")
}

/// Where a task stands whose call is open.
fn state_of(call: &Call) -> TaskState {
    if call.waits_for_caller() {
        TaskState::InputRequired
    } else {
        TaskState::Working
    }
}

/// Ends the turn in the record.
fn end_record(record: &mut TaskRecord, end: &End) {
    record.state = state_after(end);
    record.sent = false;
    record.failure = if let End::Failed(failure) = end {
        Some(failure.clone())
    } else {
        None
    };
    record.updated_at = Timestamp::now();
}

fn state_after(end: &End) -> TaskState {
    match end {
        End::Done(done) => match done.state {
            DoneState::Completed => TaskState::Completed,
            DoneState::InputRequired => TaskState::InputRequired,
            DoneState::Rejected => TaskState::Rejected,
        },
        End::Failed(_) => TaskState::Failed,
        End::Cancelled => TaskState::Cancelled,
    }
}
