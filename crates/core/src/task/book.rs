//! The kept calls of a hub: which of them are worked on, and who records them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{
    Task, claims::Claims, no_such_task, once::ScopedKey, recorder::Recorder, store_failure,
    turns::Turns,
};
use jackfield_model::{Answer, End, Failure, Reason, TaskId};

use crate::{
    agent::Keep,
    call::{Asking, Call},
    outbox::Callbacks,
    principal::Principal,
    shared::Shared,
    store::{Receipt, Store, TaskFilter, TaskOrder, TaskRecord},
    token::Tokens,
};

/// The kept calls of a hub.
#[derive(Debug)]
pub struct TaskBook {
    pub(super) store: Arc<dyn Store>,
    pub(super) shared: Arc<Shared>,
    pub(super) callbacks: Callbacks,
    live: Arc<Mutex<HashMap<TaskId, Arc<Task>>>>,
    /// The tasks whose next turn is just being started, or that are changed between two turns.
    pub(super) changing: Claims<TaskId>,
    /// The requests that may be repeated, and that are just being taken in.
    pub(super) keys: Claims<ScopedKey>,
    recorders: TaskTracker,
    pub(super) stopping: CancellationToken,
    /// Those who wait for the next turn of a task.
    pub(super) turns: Turns,
}

impl TaskBook {
    pub(crate) fn new(store: Arc<dyn Store>, shared: Arc<Shared>, tokens: Arc<Tokens>) -> Self {
        Self {
            callbacks: Callbacks::new(store.clone(), tokens),
            store,
            shared,
            live: Arc::default(),
            changing: Claims::default(),
            keys: Claims::default(),
            recorders: TaskTracker::new(),
            stopping: CancellationToken::new(),
            turns: Turns::default(),
        }
    }

    pub(crate) fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// A task of the principal's. Foreign and unknown ones look the same.
    pub async fn find(&self, principal: &Principal, id: TaskId) -> Result<Arc<Task>, Failure> {
        match self.live(id) {
            Some(task) => of_principal(task, principal),
            None => self.find_stored(principal, id).await,
        }
    }

    /// The same, but as the store has it: one that is worked on may not know yet that its end is committed.
    pub async fn find_stored(
        &self,
        principal: &Principal,
        id: TaskId,
    ) -> Result<Arc<Task>, Failure> {
        let record = self.store.find_task(id).await;
        let record = record.map_err(|error| store_failure(&error))?;
        let record = record.ok_or_else(no_such_task)?;
        of_principal(self.looked_at(record), principal)
    }

    /// Whether the store can write, and why not.
    pub async fn check_store(&self) -> Result<(), Failure> {
        self.store.probe().await.map_err(|error| {
            let text = format!(
                "the hub cannot write down what happens: {error}; look at its disk, calls go on when there is room again"
            );
            Failure::new(Reason::Internal, text)
        })
    }

    /// The principal's tasks, newest first. In the order of [`TaskOrder::Updated`] they are as the store has them, so
    /// that the last one's time and id are the cursor of the next page whatever happens to it meanwhile.
    pub async fn list(
        &self,
        principal: &Principal,
        filter: TaskFilter,
    ) -> Result<Vec<TaskRecord>, Failure> {
        let order = filter.order;
        let records = self.store.list_tasks(within(principal, filter)).await;
        let mut records = records.map_err(|error| store_failure(&error))?;
        if order == TaskOrder::Updated {
            return Ok(records);
        }
        let live = self.live.lock();
        for record in &mut records {
            if let Some(task) = live.get(&record.id) {
                *record = task.record();
            }
        }
        Ok(records)
    }

    /// How many tasks of the principal's there are on all pages of a list.
    pub async fn count(&self, principal: &Principal, filter: TaskFilter) -> Result<usize, Failure> {
        let count = self.store.count_tasks(within(principal, filter)).await;
        count.map_err(|error| store_failure(&error))
    }

    /// Notes the answer to an ask of a task's call.
    pub(crate) fn answered(&self, call: &Call, ask_id: &str, answer: Answer) {
        if let Some(task) = call.task.and_then(|id| self.live(id)) {
            task.answered(call, ask_id, answer);
        }
    }

    /// A task that is worked on.
    pub(super) fn live(&self, id: TaskId) -> Option<Arc<Task>> {
        self.live.lock().get(&id).cloned()
    }

    pub(super) fn is_live(&self, id: TaskId) -> bool {
        self.live.lock().contains_key(&id)
    }

    /// The records of all tasks that are worked on.
    pub(super) fn live_records(&self) -> Vec<TaskRecord> {
        let live = self.live.lock();
        live.values().map(|task| task.record()).collect()
    }

    /// The task of a record that was found in the store: the one that is worked on, or a look at it.
    pub(super) fn at_hand(&self, record: TaskRecord) -> Arc<Task> {
        let live = self.live(record.id);
        live.unwrap_or_else(|| self.looked_at(record))
    }

    fn looked_at(&self, record: TaskRecord) -> Arc<Task> {
        Task::new(record, Keep::Full, false, None, self)
    }

    /// What is known of a task now; the one at hand may have been found before its last turn.
    pub(super) async fn current(&self, task: &Task) -> Result<TaskRecord, Failure> {
        if let Some(live) = self.live(task.id) {
            return Ok(live.record());
        }
        let stored = self.store.find_task(task.id).await;
        let stored = stored.map_err(|error| store_failure(&error))?;
        Ok(stored.unwrap_or_else(|| task.record()))
    }

    /// A stop that begins while this is held waits until the recorder has the call: what was accepted but not sent is
    /// unmarked before the next start reads it.
    pub(super) fn underway(&self) -> TaskTrackerToken {
        self.recorders.token()
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

    /// Lets the recorders write down what they have. They get some time for it and no more: a store that hangs shall
    /// not keep the hub from stopping.
    pub(crate) async fn stop(&self, limit: Duration) {
        self.send_no_more();
        self.recorders.close();
        if timeout(limit, self.recorders.wait()).await.is_err() {
            let left = self.recorders.len();
            tracing::error!(left, "the store did not take what is known of some tasks");
        }
    }

    /// Cancels the tasks that go on only while somebody reads them, and that nobody reads.
    pub(crate) fn cancel_unread(&self, now: Instant) {
        let live = self.live.lock();
        let unread = live.values().filter(|task| task.is_given_up(now));
        let unread: Vec<_> = unread.filter_map(|task| task.call()).collect();
        drop(live);
        for call in unread {
            call.finish(End::Cancelled, true);
        }
    }

    /// Forgets whom tokens that were revoked or have expired wanted to be told, in the tasks that are worked on. The store
    /// does so for all others.
    pub(crate) fn drop_unwanted(&self) {
        let live: Vec<_> = self.live.lock().values().cloned().collect();
        for task in live {
            task.drop_unwanted();
        }
    }

    /// Hands a call to a recorder, which waits for `saved` before anything else. The receipt resolves with it.
    pub(super) fn run(
        &self,
        task: Arc<Task>,
        call: Arc<Call>,
        sent: bool,
        saved: Receipt,
    ) -> Receipt {
        *task.call.lock() = Arc::downgrade(&call);
        self.live.lock().insert(task.id, task.clone());
        self.turns.tell(task.id);
        let (accepted, receipt) = Receipt::pair();
        let recorder = Recorder::new(task, Asking::new(call), &self.shared.limits);
        let (live, stopping) = (self.live.clone(), self.stopping.clone());
        self.recorders
            .spawn(async move { recorder.run(sent, saved, accepted, &live, stopping).await });
        receipt
    }
}

fn of_principal(task: Arc<Task>, principal: &Principal) -> Result<Arc<Task>, Failure> {
    let is_theirs = principal.may_act_for(&task.record.lock().principal);
    is_theirs.then_some(task).ok_or_else(no_such_task)
}

/// What of a list the principal may see.
fn within(principal: &Principal, filter: TaskFilter) -> TaskFilter {
    if principal.is_admin() {
        return filter;
    }
    TaskFilter {
        whose: principal.reach(),
        ..filter
    }
}
