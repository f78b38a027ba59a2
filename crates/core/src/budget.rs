//! The memory of all pipes together, and of the messages of open calls. Pipes lease it in steps, so that the shared counter
//! is touched rarely.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::failure::{Failure, Reason};

/// A small pipe leases this much at first; a growing one doubles up to [`STEP_MAX`].
const STEP_MIN: usize = 4 << 10;
/// The largest step.
const STEP_MAX: usize = 64 << 10;

/// The bytes that all pipes and messages may hold.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    total: usize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(total: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            total,
        }
    }

    /// Whether it is used up: new calls get `busy`, open ones go on.
    pub fn is_spent(&self) -> bool {
        self.used() >= self.total
    }

    /// Refuses something new while it is used up.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_spent() {
            let text =
                "the hub holds as much unread data and as many messages as it may; try again later";
            return Err(Failure::new(Reason::Busy, text));
        }
        Ok(())
    }

    /// The bytes leased.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Adjusts a lease to what a pipe holds now. Shrinks only when much is left over, so that it does not flap, or when
    /// the pipe is empty, so that many idle calls do not keep what nobody uses.
    pub(crate) fn adjust(&self, lease: &mut usize, bytes: usize) {
        if bytes > *lease {
            let step = (*lease).clamp(STEP_MIN, STEP_MAX);
            let more = (bytes - *lease).div_ceil(step) * step;
            self.used.fetch_add(more, Ordering::Relaxed);
            *lease += more;
            return;
        }
        let left = match bytes {
            0 => STEP_MIN,
            bytes if *lease > bytes + 2 * STEP_MAX => bytes + STEP_MAX,
            _ => return,
        };
        if *lease > left {
            self.used.fetch_sub(*lease - left, Ordering::Relaxed);
            *lease = left;
        }
    }

    /// Takes bytes that something holds from its beginning to its end, however much is leased already.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Held {
            budget: self.clone(),
            bytes,
        }
    }

    pub(crate) fn give_back(&self, lease: usize) {
        self.used.fetch_sub(lease, Ordering::Relaxed);
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}
