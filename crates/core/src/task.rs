//! Kept calls: a task reads the reply, numbers the events, writes them to the log and serves any number of readers by
//! cursor, from memory and then from the log. Losing a reader changes nothing.

mod recorder;
mod ring;
mod subscription;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::subscription::{Subscription, TaskItem};
use self::{recorder::Recorder, ring::Ring};
use crate::{
    agent::Keep,
    call::{Asking, Call, Life},
    clock::Stage,
    event::{Answer, DoneState, End, Message},
    failure::{Failure, Reason},
    hub::{Hub, LONGEST, Request, Start, known_door},
    id::{CallId, TaskId},
    principal::Principal,
    shared::Shared,
    store::{LogItem, LogRow, Receipt, Store, StoreError, TaskFilter, TaskRecord, TaskState},
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
    store: Arc<dyn Store>,
}

impl Task {
    fn new(
        record: TaskRecord,
        keep: Keep,
        running: bool,
        ring_max: usize,
        store: Arc<dyn Store>,
    ) -> Arc<Self> {
        let (moved, _) = watch::channel((record.log_end, running));
        Arc::new(Self {
            id: record.id,
            ring: Mutex::new(Ring::new(record.log_end, ring_max)),
            record: Mutex::new(record),
            keep,
            moved,
            call: Mutex::new(Weak::new()),
            is_over: AtomicBool::new(false),
            store,
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

    /// Writes the end and the final state in one commit. Nobody sees either before it is durable; if that fails, so
    /// has the task.
    async fn conclude(&self, end: End) -> Result<(), StoreError> {
        let saved = {
            let record = self.record.lock();
            self.is_over.store(true, Ordering::Relaxed);
            let pos = self.ring.lock().end();
            let row = LogRow {
                pos,
                seq: None,
                item: LogItem::End(end.clone()),
            };
            let mut record = record.clone();
            end_record(&mut record, &end);
            record.log_end = pos + row.item.advance();
            self.save(record, vec![row], true)
        };
        let result = saved.await;
        let end = match result {
            Ok(()) => end,
            Err(_) => End::Failed(not_written()),
        };
        end_record(&mut self.record.lock(), &end);
        self.number(vec![(LogItem::End(end), None)]);
        *self.call.lock() = Weak::new();
        result
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

/// The kept calls of a hub.
#[derive(Debug)]
pub struct Tasks {
    store: Arc<dyn Store>,
    shared: Arc<Shared>,
    live: Arc<Mutex<HashMap<TaskId, Arc<Task>>>>,
    /// The tasks whose next turn is just being started.
    continued: Mutex<HashSet<TaskId>>,
    recorders: TaskTracker,
    stopping: CancellationToken,
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn Store>, shared: Arc<Shared>) -> Self {
        Self {
            store,
            shared,
            live: Arc::default(),
            continued: Mutex::default(),
            recorders: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// A task of the principal's. Foreign and unknown ones look the same.
    pub async fn find(&self, principal: &Principal, id: TaskId) -> Result<Arc<Task>, Failure> {
        let live = self.live.lock().get(&id).cloned();
        let task = match live {
            Some(task) => Some(task),
            None => self.load(id).await.map_err(|error| store_failure(&error))?,
        };
        task.filter(|task| principal.may_act_for(&task.record.lock().principal))
            .ok_or_else(no_such_task)
    }

    async fn load(&self, id: TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        let record = self.store.find_task(id).await?;
        Ok(record.map(|record| {
            Task::new(
                record,
                Keep::Full,
                false,
                self.shared.limits.task_ring.0,
                self.store.clone(),
            )
        }))
    }

    /// The principal's tasks, newest first.
    pub async fn list(
        &self,
        principal: &Principal,
        mut filter: TaskFilter,
    ) -> Result<Vec<TaskRecord>, Failure> {
        if !principal.is_admin() {
            filter.principal = Some(principal.key());
            filter.exactly = principal.who != crate::principal::Who::Person;
        }
        let mut records = self
            .store
            .list_tasks(filter)
            .await
            .map_err(|error| store_failure(&error))?;
        let live = self.live.lock();
        for record in &mut records {
            if let Some(task) = live.get(&record.id) {
                *record = task.record();
            }
        }
        Ok(records)
    }

    /// Notes the answer to an ask of a task's call.
    pub(crate) fn answered(&self, call: &Call, ask_id: &str, answer: Answer) {
        let task = call.task.and_then(|id| self.live.lock().get(&id).cloned());
        if let Some(task) = task {
            task.answered(call, ask_id, answer);
        }
    }

    fn is_live(&self, id: TaskId) -> bool {
        self.live.lock().contains_key(&id)
    }

    /// Claims the next turn of a task, so that two messages at once do not both get it.
    fn claim(&self, id: TaskId) -> Option<Turn<'_>> {
        let is_first = self.continued.lock().insert(id);
        is_first.then_some(Turn { tasks: self, id })
    }

    /// What is known of a task now; the one at hand may have been found before its last turn.
    async fn current(&self, task: &Task) -> Result<TaskRecord, Failure> {
        let live = self.live.lock().get(&task.id).cloned();
        if let Some(live) = live {
            return Ok(live.record());
        }
        let stored = self.store.find_task(task.id).await;
        let stored = stored.map_err(|error| store_failure(&error))?;
        Ok(stored.unwrap_or_else(|| task.record()))
    }

    /// Nothing is handed to agents any more, and what they have ends.
    pub(crate) fn send_no_more(&self) {
        self.stopping.cancel();
    }

    pub(crate) fn trim(&self) {
        let limits = &self.shared.limits;
        if let Ok(before) = Timestamp::now().checked_sub(limits.task_kept.0) {
            drop(self.store.trim(before, limits.tasks_total.0));
        }
    }

    pub(crate) async fn stop(&self) {
        self.send_no_more();
        self.recorders.close();
        self.recorders.wait().await;
    }

    /// Hands a call to a recorder, which waits for `saved` before anything else. The receipt resolves with it.
    fn run(&self, task: Arc<Task>, call: Arc<Call>, sent: bool, saved: Receipt) -> Receipt {
        *task.call.lock() = Arc::downgrade(&call);
        self.live.lock().insert(task.id, task.clone());
        let (accepted, receipt) = Receipt::pair();
        let recorder = Recorder::new(task, Asking::new(call), self.shared.limits.task_unwritten.0);
        let (live, stopping) = (self.live.clone(), self.stopping.clone());
        self.recorders
            .spawn(async move { recorder.run(sent, saved, accepted, &live, stopping).await });
        receipt
    }
}

/// The claim on a task's next turn.
#[derive(Debug)]
struct Turn<'a> {
    tasks: &'a Tasks,
    id: TaskId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.tasks.continued.lock().remove(&self.id);
    }
}

impl Hub {
    /// Starts a kept call as a new task. It is accepted when this returns: the store has it.
    pub async fn start_task(&self, request: Request) -> Result<Arc<Task>, Failure> {
        let id = CallId::new();
        self.keep_call(request, id, None).await
    }

    /// Goes on with a task whose agent waits for another message.
    pub async fn continue_task(
        &self,
        mut request: Request,
        task: &Arc<Task>,
    ) -> Result<Arc<Task>, Failure> {
        let conflict = |state: &str| {
            let text = format!("task {} is {state} and takes no further message", task.id);
            Failure::new(Reason::Conflict, text)
        };
        let turn = self.tasks().claim(task.id);
        let _turn = turn.ok_or_else(|| conflict("just going on"))?;
        let record = self.tasks().current(task).await?;
        if record.state != TaskState::InputRequired || self.tasks().is_live(task.id) {
            return Err(conflict(record.state.name()));
        }
        request.session = Some(record.session.clone());
        request.target = record.agent.clone();
        self.keep_call(request, CallId::new(), Some(record)).await
    }

    async fn keep_call(
        &self,
        request: Request,
        id: CallId,
        before: Option<TaskRecord>,
    ) -> Result<Arc<Task>, Failure> {
        let tasks = self.tasks();
        // A stop that begins from here on waits until the recorder has it: what was accepted but not sent is unmarked
        // before the next start reads it.
        let _underway = tasks.recorders.token();
        let task_id = before
            .as_ref()
            .map_or_else(|| TaskId::from(id), |record| record.id);
        let wait_until = request
            .wait_online
            .and_then(|span| Timestamp::now().checked_add(span.min(LONGEST)).ok());
        let message = request.message.clone();
        let call = self.start(
            request,
            &Start {
                life: Life::Kept,
                id: Some(id),
                task: Some(task_id),
                allowed: false,
                // A task goes on in its conversation, whoever of those who may has the next word.
                speaker: before
                    .as_ref()
                    .and_then(|record| Principal::from_key(&record.principal)),
            },
        )?;
        let now = Timestamp::now();
        let sent = call.clock.lock().stage == Stage::Placed;
        let record = TaskRecord {
            id: task_id,
            call: id,
            principal: before
                .as_ref()
                .map_or_else(|| call.principal.key(), |record| record.principal.clone()),
            caller: call.principal.label().to_owned(),
            door: call.door.to_owned(),
            agent: call.target.clone(),
            session: call.session.clone(),
            request: call.request.clone(),
            state: if sent {
                TaskState::Working
            } else {
                TaskState::Submitted
            },
            sent,
            epoch: before.as_ref().map_or(0, |record| record.epoch),
            log_end: before.as_ref().map_or(0, |record| record.log_end),
            created_at: before.as_ref().map_or(now, |record| record.created_at),
            updated_at: now,
            wait_until,
            failure: None,
        };
        let keep = call.entry.settings().store;
        let task = Task::new(
            record,
            keep,
            true,
            tasks.shared.limits.task_ring.0,
            tasks.store.clone(),
        );
        let rows = task.number(vec![(LogItem::Message(message), None)]);
        let saved = task.save(task.record(), rows, true);
        // The recorder owns the call from here on: a caller that leaves now changes nothing.
        tasks
            .run(task.clone(), call, sent, saved)
            .await
            .map_err(|error| store_failure(&error))?;
        Ok(task)
    }

    /// After a restart: what was not sent goes out when its agent registers; what was sent may have run, so it fails.
    /// The hub never runs a message twice.
    pub(crate) async fn take_up_tasks(
        &self,
        open: Vec<(TaskRecord, Vec<Message>)>,
    ) -> Result<(), StoreError> {
        let tasks = self.tasks();
        for (record, messages) in open {
            if record.state == TaskState::InputRequired && !record.sent {
                continue;
            }
            let waits = record
                .wait_until
                .map_or(self.limits().queue_wait.0, |until| {
                    Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default()
                });
            let reopened = match messages.last() {
                Some(message) if !record.sent => self.reopen(&record, message.clone(), waits),
                _ => Err(Failure::new(
                    Reason::Offline,
                    "the hub was restarted while the agent was working",
                )),
            };
            let keep = if messages.is_empty() {
                Keep::Meta
            } else {
                Keep::Full
            };
            let running = reopened.is_ok();
            let task = Task::new(
                record,
                keep,
                running,
                self.limits().task_ring.0,
                tasks.store.clone(),
            );
            match reopened {
                Ok(call) => drop(tasks.run(task, call, false, Receipt::ready(Ok(())))),
                Err(failure) => task.conclude(End::Failed(failure)).await?,
            }
        }
        Ok(())
    }

    fn reopen(
        &self,
        record: &TaskRecord,
        message: Message,
        waits: Duration,
    ) -> Result<Arc<Call>, Failure> {
        let principal = Principal::from_key(&record.principal).ok_or_else(no_such_task)?;
        let mut request = Request::new(
            principal,
            known_door(&record.door),
            record.agent.clone(),
            message,
        );
        request.session = Some(record.session.clone());
        request.request = Some(record.request.clone());
        request.wait_online = Some(waits);
        self.start(
            request,
            &Start {
                life: Life::Kept,
                id: Some(record.call),
                task: Some(record.id),
                allowed: true,
                speaker: None,
            },
        )
    }
}

fn no_such_task() -> Failure {
    Failure::new(Reason::NotFound, "no such task")
}

fn store_failure(error: &StoreError) -> Failure {
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
