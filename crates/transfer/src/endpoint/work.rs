//! Blocking work outside the runtime's threads. The work is cancelled soon after its future is dropped.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Cancellation flag of blocking work, set when the waiting future is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Returns an error once the work is cancelled; called between pieces of the work.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            // Not `Interrupted`, which readers would retry.
            return Err(io::Error::other("nobody waits for it any more"));
        }
        Ok(())
    }
}

/// Sets the cancellation flag ([`CancelFlag`]) on drop.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs blocking work and waits for its result.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&CancelFlag) -> T + Send + 'static,
) -> io::Result<T> {
    let wanted = CancelFlag::default();
    let _waiting = CancelOnDrop(wanted.clone());
    tokio::task::spawn_blocking(move || work(&wanted))
        .await
        .map_err(io::Error::other)
}
