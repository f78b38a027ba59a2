//! The time of the peer's last sign of life.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// Maximum age of a sign of life for [`PeerLiveness::is_recent`]: a little over the interval of the sweeper.
const FRESH: Duration = Duration::from_millis(1500);

/// The time of the last frame from the peer. The link of an agent answers the sweeper's liveness check from
/// here.
#[derive(Debug)]
pub struct PeerLiveness {
    born: Instant,
    /// Milliseconds between `born` and the last sign of life.
    last: AtomicU64,
    /// Whether a ping has been unanswered for too long.
    silent: AtomicBool,
}

impl Default for PeerLiveness {
    fn default() -> Self {
        Self {
            born: Instant::now(),
            last: AtomicU64::new(0),
            silent: AtomicBool::new(false),
        }
    }
}

impl PeerLiveness {
    pub(super) fn note(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.born).as_millis();
        self.last
            .store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.set_silent(false);
    }

    pub(super) fn set_silent(&self, is_silent: bool) {
        self.silent.store(is_silent, Ordering::Relaxed);
    }

    /// Returns whether a ping has been unanswered for so long that the connection may be dead.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Returns whether the peer sent a frame since about the sweeper's last check.
    pub fn is_recent(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(last) <= FRESH
    }
}
