//! Work that blocks, off the runtime's threads. It is told when nobody waits for it any more, and ends soon.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Whether somebody still waits for the work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// An error once nobody waits; called between pieces of the work.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            // Not `Interrupted`: that is tried again by those who read.
            return Err(io::Error::other("nobody waits for it any more"));
        }
        Ok(())
    }
}

/// Tells the work when the future that waits for it is dropped.
struct Waiting(Wanted);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does the work, and waits for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> io::Result<T> {
    let wanted = Wanted::default();
    let _waiting = Waiting(wanted.clone());
    tokio::task::spawn_blocking(move || work(&wanted))
        .await
        .map_err(io::Error::other)
}
