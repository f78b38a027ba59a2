//! [`Gate`]: whether a connection may be read. The gate counts the pipes that the connection writes into and how many of them are full (docs/promises.md, Flow control). It changes only when a pipe becomes full or not full, never per event.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How a connection may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// No pipe is full: at full speed.
    Free,
    /// Some pipes are full: a little at a time, so that the others keep flowing.
    Paced,
    /// All pipes are full: not at all.
    Shut,
}

/// State of the pipes that a connection writes into.
#[derive(Debug, Default)]
pub struct Gate {
    open: AtomicUsize,
    full: AtomicUsize,
    changed: Notify,
}

impl Gate {
    /// Returns how the connection may be read now.
    pub fn reading(&self) -> Reading {
        match self.full.load(Ordering::Acquire) {
            0 => Reading::Free,
            full if full < self.open.load(Ordering::Acquire) => Reading::Paced,
            _ => Reading::Shut,
        }
    }

    /// Waits until [`Gate::reading`] may have changed. Cancel-safe.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until no pipe is full; for a writer of one pipe, in the same process.
    pub async fn free(&self) {
        while self.reading() != Reading::Free {
            self.changed().await;
        }
    }

    pub(crate) fn opened(&self) {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    pub(crate) fn filled(&self) {
        self.full.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    pub(crate) fn drained(&self) {
        self.full.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_one();
    }
}
