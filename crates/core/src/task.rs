//! Kept calls: a task reads the reply, numbers the events, writes them to the log and serves any number of readers by
//! cursor, from memory and then from the log. Losing a reader changes nothing.

mod book;
mod claims;
mod followers;
mod last_turn;
mod once;
mod readers;
mod recorder;
mod refused;
mod reopen;
mod ring;
mod said;
mod start;
mod subscription;
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

pub use self::{
    book::TaskBook,
    last_turn::LastTurn,
    once::Once,
    subscription::{Subscription, TaskItem},
};
use self::{readers::Readers, ring::Ring, said::Said};
use jackfield_model::{Answer, DoneState, End, Event, Failure, Json, Reason, TaskId};

use crate::{
    agent::Keep,
    call::Call,
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
    keep: Mutex<Keep>,
    ring: Mutex<Ring>,
    /// Where the message of its turn stands, unless it is only looked at.
    turn: Option<u64>,
    /// Its followers were told that the agent has the message of its turn. Changes under the record's lock.
    is_announced: AtomicBool,
    /// One past the last position, and whether a call is running; readers wait for it to change.
    moved: watch::Sender<(u64, bool)>,
    call: Mutex<Weak<Call>>,
    /// Its end is on the way to the store: nothing comes after it. Changes under the record's lock.
    is_over: AtomicBool,
    readers: Readers,
    /// For those who are told of the end, where the log is not kept.
    said: Mutex<Option<Said>>,
    said_max: usize,
    store: Arc<dyn Store>,
    callbacks: Callbacks,
}

/// The end of a turn that no reader has seen yet: what the store gets of it, in one commit.
#[derive(Debug)]
struct Ending {
    /// The record as it is after the end.
    record: TaskRecord,
    /// The end in the log.
    row: LogRow,
    /// Whom to tell of it.
    told: Vec<NewCallback>,
}

impl Task {
    fn new(
        record: TaskRecord,
        keep: Keep,
        running: bool,
        turn: Option<u64>,
        tasks: &TaskBook,
    ) -> Arc<Self> {
        let (moved, _) = watch::channel((record.log_end, running));
        let limits = &tasks.shared.limits;
        let is_told = record.callback.is_some() || !record.followers.is_empty();
        let said = (is_told && keep != Keep::Full).then(|| Said::new(limits.message.0));
        Arc::new(Self {
            id: record.id,
            ring: Mutex::new(Ring::new(record.log_end, limits.task_ring.0)),
            said: Mutex::new(said),
            said_max: limits.message.0,
            is_announced: AtomicBool::new(false),
            record: Mutex::new(record),
            keep: Mutex::new(keep),
            turn,
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

    /// The record as its readers know it, and the place in the log up to which they do: whoever reads on from there
    /// misses nothing that happened since, and is told of no state again that the record has.
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

    /// Where its turn begins: whoever reads from there gets the message of the turn first. Nothing for a task that was
    /// found in the store and is not worked on.
    pub fn turn(&self) -> Option<Cursor> {
        let epoch = self.record.lock().epoch;
        self.turn.map(|pos| Cursor { epoch, pos })
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
    fn number(&self, items: Vec<(LogItem, Option<u64>)>, at: Timestamp) -> Vec<LogRow> {
        self.ring.lock().number(items, at)
    }

    /// Lets readers see what is numbered.
    fn show(&self, running: bool) {
        let end = self.ring.lock().end();
        self.moved.send_replace((end, running));
    }

    /// Waits until its turn is over, and its readers know.
    pub async fn over(&self) {
        let mut moved = self.moved.subscribe();
        // It fails only if nobody can send any more, and this task can.
        drop(moved.wait_for(|(_, running)| !running).await);
    }

    /// Numbers items and hands them to the store and the readers; with those of which the followers are told. Under the
    /// record's lock, so that the state changes with them.
    fn append(
        &self,
        record: &TaskRecord,
        items: Vec<(LogItem, Option<u64>)>,
        at: Timestamp,
        is_told: impl Fn(&LogItem) -> bool,
    ) -> Option<Receipt> {
        if let Some(said) = &mut *self.said.lock() {
            items.iter().for_each(|(item, _)| said.add(item));
        }
        let is_logged = *self.keep.lock() == Keep::Full;
        let (receipt, end) = {
            let mut ring = self.ring.lock();
            let mut rows = ring.number(items, at);
            let told = rows.iter().filter(|row| is_told(&row.item));
            let told: Vec<_> = told
                .flat_map(|row| self.tell(record, row.pos, at, std::slice::from_ref(&row.item)))
                .collect();
            if !is_logged {
                rows.clear();
            }
            let is_told = !told.is_empty();
            // Under the ring's lock, so that the store gets rows in the order of their numbers.
            let receipt = (is_logged || is_told).then(|| self.store.append(self.id, rows, told));
            if is_told {
                self.callbacks.wake();
            }
            (receipt, ring.end())
        };
        self.moved.send_modify(|moved| moved.0 = moved.0.max(end));
        receipt
    }

    /// Writes down what the agent said. A question changes where the task stands, unless it was answered meanwhile.
    fn write(&self, call: &Call, events: Vec<(Event, Option<u64>)>) -> Option<Receipt> {
        let asks = |(event, _): &(Event, _)| matches!(event, Event::Ask(_));
        let is_asked = events.iter().any(asks);
        let items = events.into_iter();
        let items = items.map(|(event, seq)| (LogItem::Event(event), seq));
        let mut record = self.record.lock();
        let at = Timestamp::now();
        let state = if is_asked {
            state_of(call)
        } else {
            record.state
        };
        let receipt = self.append(&record, items.collect(), at, |item| match item {
            LogItem::Event(Event::Ask(_)) => state == TaskState::InputRequired,
            LogItem::Event(Event::Artifact(artifact)) => artifact.last,
            LogItem::Event(Event::Chunk(_))
            | LogItem::Message(_)
            | LogItem::Answer(..)
            | LogItem::End(_) => false,
        });
        if is_asked {
            // The log has the question; that the record says so too may come with the next commit.
            drop(self.change(&mut record, state, at, Vec::new(), false));
        }
        receipt
    }

    /// Writes down the answer to an ask, unless the end came first.
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
        // Nobody waits for it: the answer is in the pipe, and the log has it.
        drop(self.change(&mut record, state, at, Vec::new(), false));
    }

    /// Writes down whether the agent gets the message of this turn, before it does.
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

    /// Writes down by what the agent's door finds the work again.
    fn note(&self, handle: Json) -> Receipt {
        let mut record = self.record.lock();
        record.handle = Some(handle);
        record.log_end = self.ring.lock().end();
        self.save(record.clone(), Vec::new(), Vec::new(), false)
    }

    /// Changes where it stands; under the record's lock, so that the store gets changes in their order.
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

    /// Whether nobody reads it no longer matters: somebody was told its id, and comes back when they like.
    pub fn outlive_readers(&self) {
        let mut record = self.record.lock();
        if record.unread.is_none() || self.is_over.load(Ordering::Relaxed) {
            return;
        }
        record.unread = None;
        record.log_end = self.ring.lock().end();
        // Nobody waits for it: if it is lost with this process, the next one cancels what nobody reads.
        drop(self.save(record.clone(), Vec::new(), Vec::new(), false));
    }

    /// Whether nobody has read it for longer than it goes on without.
    fn is_given_up(&self, now: Instant) -> bool {
        let unread = self.record.lock().unread;
        unread.is_some_and(|unread| self.readers.gone_for(now) >= Some(unread.0))
    }

    /// Ends the turn: from here on nothing else is written of it. Nobody sees the end before [`Task::show_end`].
    fn end_turn(&self, end: End, seq: Option<u64>) -> Ending {
        let record = self.record.lock();
        self.is_over.store(true, Ordering::Relaxed);
        let pos = self.ring.lock().end();
        // One that waits for its next message was told of when its turn ended: each turn is told once.
        let is_waiting = record.waits_for_message();
        let mut record = record.clone();
        let at = Timestamp::now();
        end_record(&mut record, &end, at);
        // An end takes one position.
        record.log_end = pos + 1;
        let told = self.told_of_end(&record, pos, &end, !is_waiting);
        let item = LogItem::End(end);
        let row = LogRow { pos, seq, at, item };
        Ending { record, row, told }
    }

    /// Writes the end, with the agent's number of it, the final state and what is told of it in one commit. May be tried
    /// again as long as it fails.
    fn write_end(&self, ending: &Ending) -> Receipt {
        let Ending { record, row, told } = ending;
        self.save(record.clone(), vec![row.clone()], told.clone(), true)
    }

    /// Writes that a task is over that no recorder works on.
    async fn conclude(&self, end: End) -> Result<(), StoreError> {
        self.write_end(&self.end_turn(end, None)).await
    }

    /// Lets readers see the end, and that nothing follows in this turn.
    fn show_end(&self, record: TaskRecord, row: LogRow) {
        // Both at once: whoever knows the state knows the end of the log.
        let mut shown = self.record.lock();
        *shown = record;
        self.number(vec![(row.item, row.seq)], row.at);
        *self.call.lock() = Weak::new();
        self.show(false);
    }

    /// What is told of the end of a turn: to the followers, and to whoever waits for the end only.
    fn told_of_end(
        &self,
        record: &TaskRecord,
        pos: u64,
        end: &End,
        is_turns: bool,
    ) -> Vec<NewCallback> {
        let said = self.said.lock().take();
        let reply = said.map_or_else(Vec::new, |mut said| said.take(end.clone()));
        let mut told = self.tell(record, pos, record.updated_at, &reply);
        let callback =
            OutboxRow::of(record).filter(|row| is_turns && self.callbacks.is_wanted(&row.callback));
        told.extend(callback.map(|row| NewCallback { row, reply }));
        told
    }

    /// Writes the record, and what belongs to the same commit.
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
            // Whoever looks for it waits for the store to have it.
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
fn end_record(record: &mut TaskRecord, end: &End, at: Timestamp) {
    record.state = state_after(end);
    record.needs_auth =
        matches!(end, End::Done(done) if done.state == DoneState::InputRequired && done.needs_auth);
    record.sent = false;
    // An agent that waits for the next message may go on with the work that was noted.
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
