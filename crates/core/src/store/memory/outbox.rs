//! The outbox in memory.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::{
    id::{CallbackId, TaskId},
    outbox::{CallbackRef, OutboxRow, OutboxState, PER_ORIGIN, Settled},
};

/// Callbacks that were not delivered, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox(BTreeMap<CallbackId, OutboxRow>);

impl Outbox {
    pub(super) fn add(&mut self, row: OutboxRow) {
        self.0.insert(row.id, row);
    }

    fn pending(&self) -> impl Iterator<Item = &OutboxRow> {
        let rows = self.0.values();
        rows.filter(|row| row.state == OutboxState::Pending)
    }

    pub(super) fn due(&self, now: Timestamp, limit: usize) -> Vec<OutboxRow> {
        let mut due: Vec<_> = self.pending().filter(|row| row.next_at <= now).collect();
        due.sort_by_key(|row| (row.next_at, row.id));
        let mut to: HashMap<String, usize> = HashMap::new();
        due.retain(|row| {
            let count = to.entry(row.callback.origin()).or_default();
            *count += 1;
            *count <= PER_ORIGIN
        });
        due.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let times = self.pending().map(|row| row.next_at);
        times.filter(|at| *at > after).min()
    }

    pub(super) fn settle(&mut self, id: CallbackId, how: Settled) {
        let Some(row) = self.0.get_mut(&id) else {
            return;
        };
        let (state, at, error) = match how {
            Settled::Delivered => {
                self.0.remove(&id);
                return;
            }
            Settled::Retry { at, error } => (OutboxState::Pending, at, error),
            Settled::Dead { error } => (OutboxState::Dead, Timestamp::now(), error),
        };
        row.attempts = row.attempts.saturating_add(1);
        (row.state, row.next_at, row.last_error) = (state, at, Some(error));
    }

    pub(super) fn list(&self, dead_only: bool, limit: usize) -> Vec<OutboxRow> {
        let rows = self.0.values().rev();
        let wanted = rows.filter(|row| !dead_only || row.state == OutboxState::Dead);
        wanted.take(limit).cloned().collect()
    }

    pub(super) fn resend(&mut self, which: CallbackRef) -> bool {
        let is_it = |row: &OutboxRow| match which {
            CallbackRef::Id(id) => row.id == id,
            CallbackRef::Task(task) => row.task == task,
        };
        let mut rows = self.0.values_mut();
        let Some(row) = rows.find(|row| is_it(row) && row.state == OutboxState::Dead) else {
            return false;
        };
        let now = Timestamp::now();
        (row.state, row.attempts) = (OutboxState::Pending, 0);
        (row.next_at, row.created_at) = (now, now);
        true
    }

    /// Whether it keeps a task from being trimmed: one that is pending, or was given up at `since` or later.
    pub(super) fn keeps(&self, task: TaskId, since: Option<Timestamp>) -> bool {
        let mut rows = self.0.values().filter(|row| row.task == task);
        rows.any(|row| match row.state {
            OutboxState::Pending => true,
            OutboxState::Dead => since.is_some_and(|since| row.next_at >= since),
        })
    }

    /// The task is gone, and its callbacks with it.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.0.retain(|_, row| row.task != task);
    }
}
