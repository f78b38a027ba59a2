//! A store whose tasks are committed when a test says so, or not at all.

use parking_lot::Condvar;
use tokio::{sync::oneshot, task::JoinSet};

use super::*;
use jackfield_model::{CallbackId, TaskId, TokenId};

use crate::{
    outbox::{NewCallback, OutboxRow, Settled},
    store::{
        AgentRecord, CallbackFilter, DoorRecord, LogItem, LogRow, RecordKey, Reopened, TaskFilter,
        TaskRecord, TokenRecord,
    },
};

/// What was handed over for a task.
#[derive(Debug, Clone)]
pub(super) enum Write {
    Save(Box<TaskRecord>, Vec<LogRow>, Vec<NewCallback>),
    Append(TaskId, Vec<LogRow>, Vec<NewCallback>),
}

type Waiting = (Write, oneshot::Sender<Result<(), StoreError>>);

/// A list of tasks that was read, and whoever waits for it.
type ReadList = (
    Vec<TaskRecord>,
    oneshot::Sender<Result<Vec<TaskRecord>, StoreError>>,
);

/// Where a save of an agent stands that others may overtake.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
enum Overtaking {
    #[default]
    Off,
    /// The next save of an agent waits.
    Armed,
    /// It does.
    Waiting,
    /// Something else was written of an agent meanwhile.
    Overtaken,
}

/// How long a save waits to be overtaken. Where nothing can overtake it, this passes.
const OVERTAKEN_WITHIN: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct SlowStore {
    inner: MemoryStore,
    is_held: AtomicBool,
    fails: AtomicBool,
    loses_rows: AtomicBool,
    waiting: Mutex<Vec<Waiting>>,
    /// Lists that are held up, while lists are.
    lists: Mutex<Option<Vec<ReadList>>>,
    overtaking: Mutex<Overtaking>,
    overtaken: Condvar,
}

impl SlowStore {
    /// What a process that was killed here would leave behind: only what is committed.
    pub(super) fn copy(&self) -> Self {
        Self {
            inner: self.inner.copy(),
            ..Self::default()
        }
    }

    /// Nothing is committed from now on.
    pub(super) fn hold(&self) {
        self.is_held.store(true, Ordering::Release);
    }

    /// Commits what was held up, and all that follows.
    pub(super) fn let_go(&self) {
        self.is_held.store(false, Ordering::Release);
        while self.commit_one().is_some() {}
    }

    /// Commits the oldest write that is held up.
    pub(super) fn commit_one(&self) -> Option<Write> {
        let (write, sender) = {
            let mut waiting = self.waiting.lock();
            (!waiting.is_empty()).then(|| waiting.remove(0))?
        };
        drop(sender.send(self.carry_out(write.clone())));
        Some(write)
    }

    /// From now on lists of tasks are read at once and returned late.
    pub(super) fn hold_lists(&self) {
        *self.lists.lock() = Some(Vec::new());
    }

    /// Returns the lists that were held up, as they were read.
    pub(super) fn return_lists(&self) {
        for (records, sender) in self.lists.lock().take().into_iter().flatten() {
            drop(sender.send(Ok(records)));
        }
    }

    /// The oldest write that is held up fails.
    pub(super) fn fail_one(&self) {
        let (_, sender) = self.waiting.lock().remove(0);
        drop(sender.send(Err(StoreError::Failed("disk full".into()))));
    }

    /// Every write from now on fails.
    pub(super) fn fail(&self) {
        self.fails.store(true, Ordering::Release);
    }

    /// Writes work again.
    pub(super) fn recover(&self) {
        self.fails.store(false, Ordering::Release);
    }

    /// The thread that saves an agent next is held up on its way into the store until another one has written something
    /// of an agent, if any can.
    pub(super) fn hold_up_an_agent(&self) {
        *self.overtaking.lock() = Overtaking::Armed;
    }

    /// Blocks until that thread is held up.
    pub(super) fn wait_until_held_up(&self) {
        let mut overtaking = self.overtaking.lock();
        let is_armed = |it: &mut Overtaking| *it == Overtaking::Armed;
        self.overtaken.wait_while(&mut overtaking, is_armed);
    }

    fn overtake(&self) {
        let mut overtaking = self.overtaking.lock();
        if *overtaking == Overtaking::Waiting {
            *overtaking = Overtaking::Overtaken;
            self.overtaken.notify_all();
        }
    }

    /// Every append from now on fails; records are written.
    pub(super) fn lose_rows(&self) {
        self.loses_rows.store(true, Ordering::Release);
    }

    pub(super) fn held_up(&self) -> usize {
        self.waiting.lock().len()
    }

    fn carry_out(&self, write: Write) -> Result<(), StoreError> {
        if self.fails.load(Ordering::Acquire) {
            return Err(StoreError::Failed("disk full".into()));
        }
        if matches!(write, Write::Append(..)) && self.loses_rows.load(Ordering::Acquire) {
            return Err(StoreError::Failed("a bad block".into()));
        }
        // The memory's receipts are ready.
        match write {
            Write::Save(record, rows, told) => {
                let saved = self.inner.save_task(*record, rows, told, true);
                saved.wait_now()
            }
            Write::Append(task, rows, told) => self.inner.append(task, rows, told).wait_now(),
        }
    }

    fn take(&self, write: Write) -> Receipt {
        if !self.is_held.load(Ordering::Acquire) {
            return Receipt::ready(self.carry_out(write));
        }
        let (sender, receipt) = Receipt::pair();
        self.waiting.lock().push((write, sender));
        receipt
    }
}

trait WaitNow<T> {
    fn wait_now(self) -> Result<T, StoreError>;
}

impl<T> WaitNow<T> for Receipt<T> {
    /// A receipt of the memory's is ready at once.
    fn wait_now(self) -> Result<T, StoreError> {
        let mut receipt = std::pin::pin!(self);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match receipt.as_mut().poll(&mut context) {
            std::task::Poll::Ready(result) => result,
            std::task::Poll::Pending => panic!("the memory is never slow"),
        }
    }
}

impl Store for SlowStore {
    fn probe(&self) -> Receipt {
        self.inner.probe()
    }
    fn load_agents(&self) -> Receipt<Vec<AgentRecord>> {
        self.inner.load_agents()
    }
    fn save_agent(&self, record: AgentRecord) -> Receipt {
        let mut overtaking = self.overtaking.lock();
        if *overtaking == Overtaking::Armed {
            *overtaking = Overtaking::Waiting;
            self.overtaken.notify_all();
            let is_waiting = |it: &mut Overtaking| *it == Overtaking::Waiting;
            self.overtaken
                .wait_while_for(&mut overtaking, is_waiting, OVERTAKEN_WITHIN);
            *overtaking = Overtaking::Off;
            return self.inner.save_agent(record);
        }
        drop(overtaking);
        let receipt = self.inner.save_agent(record);
        self.overtake();
        receipt
    }
    fn remove_agent(&self, id: AgentId) -> Receipt {
        let receipt = self.inner.remove_agent(id);
        self.overtake();
        receipt
    }
    fn load_records(&self, door: &str) -> Receipt<Vec<DoorRecord>> {
        self.inner.load_records(door)
    }
    fn save_records(&self, records: Vec<DoorRecord>, sync: bool) -> Receipt {
        self.inner.save_records(records, sync)
    }
    fn remove_records(&self, keys: Vec<RecordKey>, sync: bool) -> Receipt {
        self.inner.remove_records(keys, sync)
    }
    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>> {
        self.inner.load_tokens()
    }
    fn save_token(&self, record: TokenRecord) -> Receipt {
        self.inner.save_token(record)
    }
    fn remove_token(&self, id: TokenId) -> Receipt {
        self.inner.remove_token(id)
    }
    fn reopen_tasks(&self) -> Receipt<Vec<TaskRecord>> {
        self.inner.reopen_tasks()
    }
    fn read_turn(&self, record: TaskRecord) -> Receipt<Reopened> {
        self.inner.read_turn(record)
    }
    fn save_task(
        &self,
        record: TaskRecord,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        _: bool,
    ) -> Receipt {
        self.take(Write::Save(Box::new(record), rows, told))
    }
    fn append(&self, task: TaskId, rows: Vec<LogRow>, told: Vec<NewCallback>) -> Receipt {
        self.take(Write::Append(task, rows, told))
    }
    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>> {
        self.inner.find_task(id)
    }
    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>> {
        let listed = self.inner.list_tasks(filter);
        match &mut *self.lists.lock() {
            Some(lists) => {
                let (sender, receipt) = Receipt::pair();
                lists.push((listed.wait_now().unwrap(), sender));
                receipt
            }
            None => listed,
        }
    }
    fn count_tasks(&self, filter: TaskFilter) -> Receipt<usize> {
        self.inner.count_tasks(filter)
    }
    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>> {
        self.inner.read_log(task, from, max)
    }
    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize> {
        self.inner.trim(before, total)
    }
    fn due_callbacks(&self, now: Timestamp, limit: usize) -> Receipt<Vec<OutboxRow>> {
        self.inner.due_callbacks(now, limit)
    }
    fn next_callback(&self, after: Timestamp) -> Receipt<Option<Timestamp>> {
        self.inner.next_callback(after)
    }
    fn settle_callback(&self, id: CallbackId, how: Settled) -> Receipt {
        self.inner.settle_callback(id, how)
    }
    fn callback_reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>> {
        self.inner.callback_reply(id)
    }
    fn list_callbacks(&self, filter: CallbackFilter) -> Receipt<Vec<OutboxRow>> {
        self.inner.list_callbacks(filter)
    }
    fn resend_callbacks(&self, task: TaskId) -> Receipt<bool> {
        self.inner.resend_callbacks(task)
    }
    fn drop_lane(&self, task: TaskId, lane: String) -> Receipt {
        self.inner.drop_lane(task, lane)
    }
    fn drop_callbacks(&self, tokens: Vec<TokenId>) -> Receipt {
        self.inner.drop_callbacks(tokens)
    }
}

pub(super) async fn on_slow_store(change: impl FnOnce(&mut Limits)) -> (Arc<SlowStore>, Hub) {
    let store = Arc::new(SlowStore::default());
    let hub = hub_on(store.clone(), change).await;
    (store, hub)
}

/// A task that is being started by somebody else.
pub(super) struct Starting(JoinSet<Result<Arc<Task>, Failure>>);

pub(super) fn begin(hub: &Hub, request: Request) -> Starting {
    let (hub, mut set) = (hub.clone(), JoinSet::new());
    set.spawn(async move { hub.tasks().start(request).await });
    Starting(set)
}

impl Starting {
    /// What became of it.
    pub(super) async fn done(mut self) -> Result<Arc<Task>, Failure> {
        self.0.join_next().await.unwrap().unwrap()
    }

    pub(super) fn is_done(&mut self) -> bool {
        self.0.try_join_next().is_some()
    }
}
