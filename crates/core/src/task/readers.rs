//! [`ReaderCount`]: counts the readers of a task, for its unread timeout.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// Time since which the task has no reader; `None` before the timeout is armed.
    since: Option<Instant>,
}

/// The readers of a task.
#[derive(Debug, Default)]
pub(super) struct ReaderCount(Mutex<State>);

impl ReaderCount {
    /// Arms the unread timeout.
    pub(super) fn start(&self) {
        self.0.lock().since = Some(Instant::now());
    }

    pub(super) fn come(&self) {
        self.0.lock().count += 1;
    }

    pub(super) fn leave(&self) {
        let mut state = self.0.lock();
        state.count -= 1;
        state.since = state.since.map(|_| Instant::now());
    }

    /// Returns for how long the task has had no reader; `None` if it has one.
    pub(super) fn gone_for(&self, now: Instant) -> Option<Duration> {
        let state = self.0.lock();
        let since = state.since.filter(|_| state.count == 0);
        since.map(|since| now.saturating_duration_since(since))
    }
}
