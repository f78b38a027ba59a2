//! Fault points of the writer, for tests only: a test is called before and after each commit and before each
//! checkpoint, and may stop the writer there.

use std::{fmt, sync::OnceLock};

/// A moment in the work of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitPoint {
    /// All statements are executed, nothing is committed.
    Before,
    /// The transaction is committed, and no caller knows.
    After,
    /// The receipts are sent, and a checkpoint is due.
    Checkpoint,
}

/// The function of a test that the writer calls at each [`CommitPoint`].
#[derive(Default)]
pub(crate) struct CommitHook(OnceLock<Box<dyn Fn(CommitPoint) + Send + Sync>>);

impl CommitHook {
    /// Sets the function, once.
    pub(crate) fn set(&self, hook: impl Fn(CommitPoint) + Send + Sync + 'static) {
        assert!(self.0.set(Box::new(hook)).is_ok(), "there is a hook");
    }

    pub(crate) fn reach(&self, point: CommitPoint) {
        if let Some(hook) = self.0.get() {
            hook(point);
        }
    }
}

impl fmt::Debug for CommitHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitHook").finish_non_exhaustive()
    }
}
