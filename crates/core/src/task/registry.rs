//! [`TaskRegistry`]: the durable calls of a hub. Doors reach it by [`Hub::tasks`](crate::hub::Hub::tasks).
//!
//! - this file: finding and listing tasks, the background work of live ones, stopping
//! - `start.rs`: starting, continuing and cancelling a task; `refused.rs`: tasks that end before they begin
//! - `reopen.rs`: unfinished tasks after a restart of the hub
//! - `idempotency.rs`: repeated requests; `followers.rs`: followers; `turns.rs`: waiting for the next turn
//!
//! A live task has one background job, which [`TaskRegistry::deliver_and_record`] starts: its `Delivery` hands the call to the
//! agent, its `Recorder` writes the reply to the log.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::{Instant, timeout};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use tracing::Instrument as _;

use super::{
    LiveTasks, Task, claims::KeyClaims, delivery::Delivery, idempotency::ScopedKey, no_such_task,
    recorder::Recorder, store_failure, turns::Turns,
};
use jackfield_model::{End, Failure, Reason, TaskId};

use crate::{
    agent::Keep,
    call::{Call, CallerHandle},
    hub::{AgentRegistry, CallRegistry},
    outbox::Callbacks,
    principal::Principal,
    shared::Shared,
    store::{Receipt, Store, TaskFilter, TaskOrder, TaskRecord},
    token::Tokens,
};

/// The durable calls of a hub.
#[derive(Debug)]
pub struct TaskRegistry {
    pub(super) store: Arc<dyn Store>,
    pub(super) shared: Arc<Shared>,
    pub(super) agents: Arc<AgentRegistry>,
    pub(super) calls: Arc<CallRegistry>,
    pub(super) tokens: Arc<Tokens>,
    pub(super) callbacks: Callbacks,
    pub(super) live: Arc<LiveTasks>,
    /// Claims on tasks whose next turn is being started, or that are being changed between two turns.
    pub(super) changing: KeyClaims<TaskId>,
    /// Claims on the idempotency keys of requests that are being accepted.
    pub(super) keys: KeyClaims<ScopedKey>,
    /// Background jobs of live tasks.
    recorders: TaskTracker,
    /// Cancelled when the hub stops: nothing is delivered any more, and running calls end or are left to the next hub.
    pub(super) stopping: CancellationToken,
    /// Readers that wait for the next turn of a task.
    pub(super) turns: Turns,
}

impl TaskRegistry {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        shared: Arc<Shared>,
        (agents, calls, tokens): (Arc<AgentRegistry>, Arc<CallRegistry>, Arc<Tokens>),
        live: Arc<LiveTasks>,
    ) -> Self {
        Self {
            callbacks: Callbacks::new(store.clone(), tokens.clone()),
            store,
            shared,
            agents,
            calls,
            tokens,
            live,
            changing: KeyClaims::default(),
            keys: KeyClaims::default(),
            recorders: TaskTracker::new(),
            stopping: CancellationToken::new(),
            turns: Turns::default(),
        }
    }

    pub(crate) fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// Finds a task of `principal`. Unknown tasks and tasks of other principals give the same failure.
    pub async fn find(&self, principal: &Principal, id: TaskId) -> Result<Arc<Task>, Failure> {
        let task = self.look_up(id).await?.ok_or_else(no_such_task)?;
        of_principal(task, principal)
    }

    /// Returns a task as it is now: the live one, else a view of what the store has.
    ///
    /// The order matters. A task whose turn ends is live until the store has the end, so a read after the look at the live
    /// tasks finds it. A turn that begins in between is live by the second look.
    async fn look_up(&self, id: TaskId) -> Result<Option<Arc<Task>>, Failure> {
        if let Some(task) = self.live.get(id) {
            return Ok(Some(task));
        }
        let record = self.store.find_task(id).await;
        let record = record.map_err(|error| store_failure(&error))?;
        let live = self.live.get(id);
        Ok(live.or_else(|| record.map(|record| self.looked_at(record))))
    }

    /// Finds a task like [`TaskRegistry::find`], but as the store has it: a live task may not know yet that
    /// its end is committed.
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

    /// Checks that the store can write.
    pub async fn check_store(&self) -> Result<(), Failure> {
        self.store.probe().await.map_err(|error| {
            let text = format!(
                "the hub cannot write down what happens: {error}; look at its disk, calls go on when there is room again"
            );
            Failure::new(Reason::Internal, text)
        })
    }

    /// Lists the tasks of `principal`, newest first. In the order of [`TaskOrder::Updated`] the records are
    /// as the store has them, so that time and id of the last one are a stable cursor of the next page.
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
        self.live.refresh(&mut records);
        Ok(records)
    }

    /// Counts the tasks of `principal` on all pages of a list.
    pub async fn count(&self, principal: &Principal, filter: TaskFilter) -> Result<usize, Failure> {
        let count = self.store.count_tasks(within(principal, filter)).await;
        count.map_err(|error| store_failure(&error))
    }

    /// Returns the task of a record, which may be older than the task's last turn: see [`TaskRegistry::look_up`]. A task that
    /// is not kept is shown as in `record`.
    pub(super) async fn at_hand(&self, record: TaskRecord) -> Result<Arc<Task>, Failure> {
        let task = self.look_up(record.id).await?;
        Ok(task.unwrap_or_else(|| self.looked_at(record)))
    }

    fn looked_at(&self, record: TaskRecord) -> Arc<Task> {
        Task::new(record, Keep::Full, false, None, self)
    }

    /// Returns the current record of a task; `task` may have been found before its last turn.
    pub(super) async fn current(&self, task: &Task) -> Result<TaskRecord, Failure> {
        if let Some(live) = self.live.get(task.id) {
            return Ok(live.record());
        }
        let stored = self.store.find_task(task.id).await;
        let stored = stored.map_err(|error| store_failure(&error))?;
        Ok(stored.unwrap_or_else(|| task.record()))
    }

    /// Makes a stop wait, while the token is held, until the recorder has the call: a call that was accepted
    /// but not sent is unmarked before the next start reads it.
    pub(super) fn underway(&self) -> TaskTrackerToken {
        self.recorders.token()
    }

    /// Stops delivering calls, and ends running ones.
    pub(crate) fn stop_deliveries(&self) {
        self.stopping.cancel();
    }

    pub(crate) fn trim(&self) {
        let limits = &self.shared.limits;
        if let Ok(before) = Timestamp::now().checked_sub(limits.task_kept.0) {
            drop(self.store.trim(before, limits.tasks_total.0));
        }
    }

    /// Lets the recorders finish their writes, for a limited time: a hanging store must not keep the hub from
    /// stopping.
    pub(crate) async fn stop(&self, limit: Duration) {
        self.stop_deliveries();
        self.recorders.close();
        if timeout(limit, self.recorders.wait()).await.is_err() {
            let left = self.recorders.len();
            tracing::error!(left, "the store did not take what is known of some tasks");
        }
    }

    /// Cancels tasks whose unread timeout has passed.
    pub(crate) fn cancel_unread(&self, now: Instant) {
        let live = self.live.all();
        let unread = live.iter().filter(|task| task.is_given_up(now));
        for call in unread.filter_map(|task| task.call()) {
            call.finish(End::Cancelled, true);
        }
    }

    /// Removes followers and callbacks of revoked or expired tokens from live tasks. The store does so for
    /// all others.
    pub(crate) fn drop_unwanted(&self) {
        for task in self.live.all() {
            task.drop_unwanted();
        }
    }

    /// Starts the background job of a task: once `saved` resolves, the task's [`Delivery`] hands `call` to its agent, and the
    /// [`Recorder`] writes the reply to the log. `is_sent` if the task's record says so already. The receipt resolves with
    /// `saved`. From here on the job owns the call: a caller that leaves changes nothing.
    pub(super) fn deliver_and_record(
        &self,
        task: Arc<Task>,
        call: Arc<Call>,
        is_sent: bool,
        saved: Receipt,
    ) -> Receipt {
        *task.call.lock() = Arc::downgrade(&call);
        self.live.insert(task.clone());
        self.turns.tell(task.id);
        let (accepted, receipt) = Receipt::pair();
        let delivery = Delivery::new(task.clone(), call.clone(), is_sent);
        let task_id = task.id;
        let recorder = Recorder::new(task, CallerHandle::new(call), &self.shared.limits);
        let (live, stopping) = (self.live.clone(), self.stopping.clone());
        let span = tracing::debug_span!(parent: None, "task", task = %task_id);
        let recording = async move {
            recorder
                .run(delivery, saved, accepted, &live, stopping)
                .await
        };
        self.recorders.spawn(recording.instrument(span));
        receipt
    }
}

fn of_principal(task: Arc<Task>, principal: &Principal) -> Result<Arc<Task>, Failure> {
    let is_theirs = principal.may_act_for(&task.record.lock().principal);
    is_theirs.then_some(task).ok_or_else(no_such_task)
}

/// Restricts a filter to the tasks that `principal` may see.
fn within(principal: &Principal, filter: TaskFilter) -> TaskFilter {
    if principal.is_admin() {
        return filter;
    }
    TaskFilter {
        whose: principal.reach(),
        ..filter
    }
}
