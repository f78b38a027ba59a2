//! How many read a task, and since when nobody does.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// Since when nobody reads; unknown until it matters.
    since: Option<Instant>,
}

/// The readers of a task.
#[derive(Debug, Default)]
pub(super) struct Readers(Mutex<State>);

impl Readers {
    /// From now on it matters that nobody reads.
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

    /// For how long nobody has read it; nothing if somebody does.
    pub(super) fn gone_for(&self, now: Instant) -> Option<Duration> {
        let state = self.0.lock();
        let since = state.since.filter(|_| state.count == 0);
        since.map(|since| now.saturating_duration_since(since))
    }
}
