//! The outbox of [`MemoryStore`](super::MemoryStore).

use std::collections::{BTreeMap, HashMap, HashSet};

use jackfield_model::{CallbackId, TaskId, TokenId};
use jiff::Timestamp;

use crate::{
    outbox::{NewCallback, OutboxRow, OutboxState, PER_ORIGIN, Settled},
    store::LogItem,
};

/// Undelivered callbacks, by id.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox(BTreeMap<CallbackId, NewCallback>);

impl Outbox {
    pub(super) fn extend(&mut self, callbacks: Vec<NewCallback>) {
        let callbacks = callbacks.into_iter();
        self.0
            .extend(callbacks.map(|callback| (callback.row.id, callback)));
    }

    fn rows(&self) -> impl DoubleEndedIterator<Item = &OutboxRow> {
        self.0.values().map(|callback| &callback.row)
    }

    /// Returns the pending callbacks, of each lane the first.
    fn pending(&self) -> impl Iterator<Item = &OutboxRow> {
        let mut lanes = HashSet::new();
        self.rows()
            .filter(|row| row.state == OutboxState::Pending)
            .filter(move |row| row.lane.as_ref().is_none_or(|lane| lanes.insert(lane)))
    }

    pub(super) fn reply(&self, id: CallbackId) -> Vec<LogItem> {
        let callback = self.0.get(&id);
        callback.map_or_else(Vec::new, |callback| callback.reply.clone())
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
        let Some(NewCallback { row, .. }) = self.0.get_mut(&id) else {
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

    /// Returns the callbacks, newest first.
    pub(super) fn list(&self, dead_only: bool) -> impl Iterator<Item = &OutboxRow> {
        let rows = self.rows().rev();
        rows.filter(move |row| !dead_only || row.state == OutboxState::Dead)
    }

    pub(super) fn resend(&mut self, task: TaskId) -> bool {
        let now = Timestamp::now();
        let mut found = false;
        for NewCallback { row, .. } in self.0.values_mut() {
            if row.task == task && row.state == OutboxState::Dead {
                (row.state, row.attempts) = (OutboxState::Pending, 0);
                (row.next_at, row.created_at) = (now, now);
                found = true;
            }
        }
        found
    }

    /// Whether a callback keeps its task from being trimmed: a pending one, or one that was given up at
    /// `since` or later.
    pub(super) fn keeps(&self, task: TaskId, since: Option<Timestamp>) -> bool {
        let mut rows = self.rows().filter(|row| row.task == task);
        rows.any(|row| match row.state {
            OutboxState::Pending => true,
            OutboxState::Dead => since.is_some_and(|since| row.next_at >= since),
        })
    }

    pub(super) fn drop_lane(&mut self, task: TaskId, lane: &str) {
        let is_in = |row: &OutboxRow| row.task == task && row.lane.as_deref() == Some(lane);
        self.0.retain(|_, callback| !is_in(&callback.row));
    }

    pub(super) fn drop_of(&mut self, tokens: &[TokenId]) {
        let asked_by = |callback: &NewCallback| callback.row.callback.token;
        self.0
            .retain(|_, callback| asked_by(callback).is_none_or(|it| !tokens.contains(&it)));
    }

    /// Removes the callbacks of a removed task.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.0.retain(|_, callback| callback.row.task != task);
    }
}
