//! When the peer of a line last showed a sign of life.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// A sign of life counts for the sweeper if it is not older than this: a little over one look.
const FRESH: Duration = Duration::from_millis(1500);

/// When the peer last showed a sign of life; a link answers the sweeper from it.
#[derive(Debug)]
pub struct Signs {
    born: Instant,
    /// In ms after `born`.
    last: AtomicU64,
    /// Whether a ping has gone unanswered for too long.
    silent: AtomicBool,
}

impl Default for Signs {
    fn default() -> Self {
        Self {
            born: Instant::now(),
            last: AtomicU64::new(0),
            silent: AtomicBool::new(false),
        }
    }
}

impl Signs {
    pub(super) fn note(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.born).as_millis();
        self.last
            .store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.set_silent(false);
    }

    pub(super) fn set_silent(&self, is_silent: bool) {
        self.silent.store(is_silent, Ordering::Relaxed);
    }

    /// Whether the peer has not answered a ping for so long that the connection may be dead.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Whether there was one since about the sweeper's last look.
    pub fn are_fresh(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(last) <= FRESH
    }
}
