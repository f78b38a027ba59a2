//! [`Task`]: a durable call. A task numbers the events of the reply, writes them to its log, and serves any number of readers by [`Cursor`], from memory and then from the log. Losing a reader changes nothing. [`TaskRegistry`] owns the tasks.
//!
//! Locks of a task: `record` first; under it `turn_reply`, then `ring`, then `keep` and `call`. The ring's lock is held while rows
//! are handed to the store, so that the store gets them in the order of their numbers.

mod claims;
mod delivery;
mod followers;
mod idempotency;
mod last_turn;
mod live;
mod readers;
mod recorder;
mod refused;
mod registry;
mod reopen;
mod ring;
mod start;
mod subscription;
mod turn_reply;
mod turns;

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

pub(crate) use self::live::LiveTasks;
pub use self::{
    idempotency::IdempotencyKey,
    last_turn::LastTurn,
    registry::TaskRegistry,
    subscription::{Subscription, TaskItem},
};
use self::{readers::ReaderCount, ring::Ring, turn_reply::TurnReply};
use jackfield_model::{Answer, DoneState, End, Event, Failure, Json, Reason, TaskId};

use crate::{
    agent::Keep,
    call::Call,
    outbox::{Callbacks, NewCallback, OutboxRow},
    store::{LogItem, LogRow, Receipt, Store, StoreError, TaskRecord, TaskState},
};

/// A position in a task's log: that of the next event to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Epoch of the task; rises when an unfinished task is reopened after a restart.
    pub epoch: u32,
    /// Position within the log.
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

/// A durable call that this process works on, worked on, or has read from the store.
#[derive(Debug)]
pub struct Task {
    /// Id of the task.
    pub id: TaskId,
    record: Mutex<TaskRecord>,
    keep: Mutex<Keep>,
    ring: Mutex<Ring>,
    /// Position of the turn's message; `None` for a task that was only read from the store.
    turn: Option<u64>,
    /// Whether followers were told that the agent has the turn's message. Changes under the record's lock.
    is_announced: AtomicBool,
    /// One past the last position, and whether a call is running. Readers wait for changes.
    moved: watch::Sender<(u64, bool)>,
    call: Mutex<Weak<Call>>,
    /// Whether the end is on its way to the store: nothing comes after it. Changes under the record's lock.
    is_over: AtomicBool,
    readers: ReaderCount,
    /// Reply for callbacks, if the log is not kept.
    turn_reply: Mutex<Option<TurnReply>>,
    turn_reply_max: usize,
    store: Arc<dyn Store>,
    callbacks: Callbacks,
}

/// The end of a turn before any reader sees it: what the store gets, in one commit.
#[derive(Debug, Clone)]
struct TurnEnd {
    /// Record of the task after the end.
    record: TaskRecord,
    /// Rows of the last events, then the row of the end.
    rows: Vec<LogRow>,
    /// Callbacks that report the last events and the end.
    told: Vec<NewCallback>,
}

impl Task {
    fn new(
        record: TaskRecord,
        keep: Keep,
        running: bool,
        turn: Option<u64>,
        tasks: &TaskRegistry,
    ) -> Arc<Self> {
        let (moved, _) = watch::channel((record.log_end, running));
        let limits = &tasks.shared.limits;
        let is_told = record.callback.is_some() || !record.followers.is_empty();
        let turn_reply = (is_told && keep != Keep::Full).then(|| TurnReply::new(limits.message.0));
        Arc::new(Self {
            id: record.id,
            ring: Mutex::new(Ring::new(record.log_end, limits.task_ring.0)),
            turn_reply: Mutex::new(turn_reply),
            turn_reply_max: limits.message.0,
            is_announced: AtomicBool::new(false),
            record: Mutex::new(record),
            keep: Mutex::new(keep),
            turn,
            moved,
            call: Mutex::new(Weak::new()),
            is_over: AtomicBool::new(false),
            readers: ReaderCount::default(),
            store: tasks.store.clone(),
            callbacks: tasks.callbacks.clone(),
        })
    }

    /// Returns the current record.
    pub fn record(&self) -> TaskRecord {
        let mut record = self.record.lock().clone();
        record.log_end = self.ring.lock().end();
        record
    }

    /// Returns the record as readers know it, and the position up to which they do: a reader that continues
    /// there misses nothing, and gets no state again that the record has.
    pub fn snapshot(&self) -> (TaskRecord, Cursor) {
        // Held throughout: the state changes together with what readers see.
        let record = self.record.lock();
        let pos = self.moved.borrow().0;
        let cursor = Cursor {
            epoch: record.epoch,
            pos,
        };
        let record = TaskRecord {
            log_end: pos,
            ..record.clone()
        };
        (record, cursor)
    }

    /// Returns the start of the turn: a reader from there gets the message of the turn first. `None` for a
    /// task that was only read from the store.
    pub fn turn(&self) -> Option<Cursor> {
        let epoch = self.record.lock().epoch;
        self.turn.map(|pos| Cursor { epoch, pos })
    }

    /// Returns the running call.
    pub fn call(&self) -> Option<Arc<Call>> {
        self.call.lock().upgrade()
    }

    /// Returns a reader from a cursor on, or from the start of the log.
    pub fn subscribe(self: &Arc<Self>, after: Option<Cursor>) -> Subscription {
        Subscription::new(self.clone(), after)
    }

    /// Numbers items for the ring; the caller saves the rows and then shows them to the readers.
    fn number(&self, items: Vec<(LogItem, Option<u64>)>, at: Timestamp) -> Vec<LogRow> {
        self.ring.lock().number(items, at)
    }

    /// Shows readers the numbered items.
    fn show(&self, running: bool) {
        let end = self.ring.lock().end();
        self.moved.send_replace((end, running));
    }

    /// Waits until the turn is over and its readers know.
    pub async fn over(&self) {
        let mut moved = self.moved.subscribe();
        // The wait fails only without a sender, and this task has one.
        drop(moved.wait_for(|(_, running)| !running).await);
    }

    /// Numbers items, and returns their rows with the callbacks for items that match `is_told`. Under the record's lock,
    /// so that the store gets rows in the order of their numbers.
    fn number_and_tell(
        &self,
        record: &TaskRecord,
        items: Vec<(LogItem, Option<u64>)>,
        at: Timestamp,
        is_told: impl Fn(&LogItem) -> bool,
    ) -> (Vec<LogRow>, Vec<NewCallback>) {
        if let Some(turn_reply) = &mut *self.turn_reply.lock() {
            items.iter().for_each(|(item, _)| turn_reply.add(item));
        }
        let rows = self.number(items, at);
        let told = rows.iter().filter(|row| is_told(&row.item));
        let told = told
            .flat_map(|row| self.tell(record, row.pos, at, std::slice::from_ref(&row.item)))
            .collect();
        (rows, told)
    }

    /// Shows readers what is numbered so far, without a change to the state.
    fn show_numbered(&self) {
        let end = self.ring.lock().end();
        self.moved.send_modify(|moved| moved.0 = moved.0.max(end));
    }

    /// Numbers items and passes them to the store and the readers, with callbacks for items that match
    /// `is_told`. Under the record's lock, so that the state changes with them.
    fn append(
        &self,
        record: &TaskRecord,
        items: Vec<(LogItem, Option<u64>)>,
        at: Timestamp,
        is_told: impl Fn(&LogItem) -> bool,
    ) -> Option<Receipt> {
        let (mut rows, told) = self.number_and_tell(record, items, at, is_told);
        let is_logged = *self.keep.lock() == Keep::Full;
        if !is_logged {
            rows.clear();
        }
        let is_told = !told.is_empty();
        let receipt = (is_logged || is_told).then(|| self.store.append(self.id, rows, told));
        if is_told {
            self.callbacks.wake();
        }
        self.show_numbered();
        receipt
    }

    /// Writes events of the agent. A question changes the state of the task, unless it was answered
    /// meanwhile.
    fn write(&self, call: &Call, events: Vec<(Event, Option<u64>)>) -> Option<Receipt> {
        let asks = |(event, _): &(Event, _)| matches!(event, Event::Ask(_));
        let is_asked = events.iter().any(asks);
        let mut record = self.record.lock();
        let at = Timestamp::now();
        let state = if is_asked {
            state_of(call)
        } else {
            record.state
        };
        let receipt = self.append(&record, logged(events), at, |item| {
            is_told_at_once(item, state)
        });
        if is_asked {
            // The log has the question; the record's state may follow with the next commit.
            drop(self.change(&mut record, state, at, Vec::new(), false));
        }
        receipt
    }

    /// Writes the answer to a question, unless the end came first.
    fn answered(&self, call: &Call, ask_id: &str, answer: Answer) {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let state = state_of(call);
        let goes_on = record.state == TaskState::InputRequired && state == TaskState::Working;
        let item = LogItem::Answer(ask_id.to_owned(), answer);
        let at = Timestamp::now();
        drop(self.append(&record, vec![(item, None)], at, |_| goes_on));
        // Not awaited: the answer is in the pipe, and the log has it.
        drop(self.change(&mut record, state, at, Vec::new(), false));
    }

    /// Writes whether the agent gets the message of this turn, before the delivery.
    fn mark(&self, sent: bool) -> Receipt {
        let mut record = self.record.lock();
        let at = Timestamp::now();
        record.sent = sent;
        record.sent_at = sent.then_some(at);
        if !sent {
            return self.change(&mut record, TaskState::Submitted, at, Vec::new(), true);
        }
        let told = self.announce(&record, at);
        self.change(&mut record, TaskState::Working, at, told, true)
    }

    /// Writes that the turn is being cancelled, before its agent is told. `None` if the agent does not have the message,
    /// or the turn is over.
    fn mark_cancelling(&self) -> Option<Receipt> {
        let mut record = self.record.lock();
        if !record.sent || record.cancelling || self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        record.cancelling = true;
        record.log_end = self.ring.lock().end();
        Some(self.save(record.clone(), Vec::new(), Vec::new(), true))
    }

    /// Writes the door-specific handle for finding the remote work again.
    fn note(&self, handle: Json) -> Receipt {
        let mut record = self.record.lock();
        record.handle = Some(handle);
        record.log_end = self.ring.lock().end();
        self.save(record.clone(), Vec::new(), Vec::new(), false)
    }

    /// Changes the state; under the record's lock, so that the store gets changes in order.
    fn change(
        &self,
        record: &mut TaskRecord,
        state: TaskState,
        at: Timestamp,
        told: Vec<NewCallback>,
        sync: bool,
    ) -> Receipt {
        record.state = state;
        record.updated_at = at;
        record.log_end = self.ring.lock().end();
        self.save(record.clone(), Vec::new(), told, sync)
    }

    /// Disables the unread timeout: the caller holds the task id.
    pub fn outlive_readers(&self) {
        let mut record = self.record.lock();
        if record.unread.is_none() || self.is_over.load(Ordering::Relaxed) {
            return;
        }
        record.unread = None;
        record.log_end = self.ring.lock().end();
        // Not awaited: if this write is lost with the process, the next one cancels unread tasks.
        drop(self.save(record.clone(), Vec::new(), Vec::new(), false));
    }

    /// Whether the unread timeout has passed.
    fn is_given_up(&self, now: Instant) -> bool {
        let unread = self.record.lock().unread;
        unread.is_some_and(|unread| self.readers.gone_for(now) >= Some(unread.0))
    }

    /// Ends the turn with the agent's last events: nothing else is written after it. Readers see the events with
    /// [`Task::write_end`], and the end with [`Task::show_end`].
    fn end_turn(&self, events: Vec<(Event, Option<u64>)>, end: End, seq: Option<u64>) -> TurnEnd {
        let record = self.record.lock();
        self.is_over.store(true, Ordering::Relaxed);
        let at = Timestamp::now();
        // An ended call waits for no answer, so its questions are not told.
        let is_told = |item: &LogItem| is_told_at_once(item, TaskState::Working);
        let (mut rows, mut told) = self.number_and_tell(&record, logged(events), at, is_told);
        let pos = self.ring.lock().end();
        // A task that waits for its next message was reported when its turn ended: each turn is reported
        // once.
        let is_waiting = record.waits_for_message();
        let mut record = record.clone();
        end_record(&mut record, &end, at);
        // An end takes one position.
        record.log_end = pos + 1;
        told.extend(self.told_of_end(&record, pos, &end, !is_waiting));
        let item = LogItem::End(end);
        rows.push(LogRow { pos, seq, at, item });
        TurnEnd { record, rows, told }
    }

    /// Writes the last events, the end with the agent's frame number, the final state and the callbacks in one commit. May
    /// be retried.
    fn write_end(&self, ending: &TurnEnd) -> Receipt {
        let TurnEnd { record, rows, told } = ending;
        let receipt = self.save(record.clone(), rows.clone(), told.clone(), true);
        self.show_numbered();
        receipt
    }

    /// Writes the end of a task without a recorder.
    async fn conclude(&self, end: End) -> Result<(), StoreError> {
        self.write_end(&self.end_turn(Vec::new(), end, None)).await
    }

    /// Shows readers the end of the turn.
    fn show_end(&self, TurnEnd { record, rows, .. }: TurnEnd) {
        // Both at once: a reader that knows the state knows the end of the log.
        let mut shown = self.record.lock();
        *shown = record;
        // The rows before it have their numbers already.
        if let Some(end) = rows.into_iter().next_back() {
            self.number(vec![(end.item, end.seq)], end.at);
        }
        *self.call.lock() = Weak::new();
        self.show(false);
    }

    /// Returns the callbacks for the end of a turn: of the followers, and of the caller.
    fn told_of_end(
        &self,
        record: &TaskRecord,
        pos: u64,
        end: &End,
        is_turns: bool,
    ) -> Vec<NewCallback> {
        let turn_reply = self.turn_reply.lock().take();
        let reply = turn_reply.map_or_else(Vec::new, |mut turn_reply| turn_reply.take(end.clone()));
        let mut told = self.tell(record, pos, record.updated_at, &reply);
        let callback =
            OutboxRow::of(record).filter(|row| is_turns && self.callbacks.is_wanted(&row.callback));
        told.extend(callback.map(|row| NewCallback { row, reply }));
        told
    }

    /// Writes the record, and the rows and callbacks of the same commit.
    fn save(
        &self,
        mut record: TaskRecord,
        mut rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        sync: bool,
    ) -> Receipt {
        self.callbacks.strike_unwanted(&mut record);
        match *self.keep.lock() {
            Keep::Full => {}
            Keep::Meta => rows.clear(),
            Keep::None => return Receipt::ready(Ok(())),
        }
        let is_told = !told.is_empty();
        let receipt = self.store.save_task(record, rows, told, sync);
        if is_told {
            // A look for due callbacks waits for this write.
            self.callbacks.wake();
        }
        receipt
    }
}

pub(crate) fn no_such_task() -> Failure {
    Failure::new(Reason::NotFound, "no such task")
}

pub(crate) fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "the store failed");
    not_written()
}

/// Returns the failure of a task that could not be written.
fn not_written() -> Failure {
    Failure::new(Reason::Internal, "the hub's store failed")
}

/// Converts events of the agent to items of the log, with the numbers of their frames.
fn logged(events: Vec<(Event, Option<u64>)>) -> Vec<(LogItem, Option<u64>)> {
    let items = events.into_iter();
    items
        .map(|(event, seq)| (LogItem::Event(event), seq))
        .collect()
}

/// Returns whether followers are told of an item before the turn ends, in this state of the task.
fn is_told_at_once(item: &LogItem, state: TaskState) -> bool {
    match item {
        LogItem::Event(Event::Ask(_)) => state == TaskState::InputRequired,
        LogItem::Event(Event::Artifact(artifact)) => artifact.last,
        LogItem::Event(Event::Chunk(_))
        | LogItem::Message(_)
        | LogItem::Answer(..)
        | LogItem::End(_) => false,
    }
}

/// Returns the state of a task with an open call.
fn state_of(call: &Call) -> TaskState {
    if call.waits_for_caller() {
        TaskState::InputRequired
    } else {
        TaskState::Working
    }
}

/// Ends the turn in the record.
fn end_record(record: &mut TaskRecord, end: &End, at: Timestamp) {
    record.state = state_after(end);
    record.needs_auth =
        matches!(end, End::Done(done) if done.state == DoneState::InputRequired && done.needs_auth);
    record.sent = false;
    record.cancelling = false;
    // An agent that waits for the next message may continue the noted work.
    record.handle = record
        .handle
        .take()
        .filter(|_| record.state == TaskState::InputRequired);
    record.failure = if let End::Failed(failure) = end {
        Some(failure.clone())
    } else {
        None
    };
    record.updated_at = at;
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
