//! What only one at a time may work on; whoever comes later waits.

use std::{collections::HashSet, hash::Hash};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The things that are being worked on.
#[derive(Debug)]
pub(super) struct Claims<K> {
    held: Mutex<HashSet<K>>,
    freed: Notify,
}

impl<K> Default for Claims<K> {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            freed: Notify::new(),
        }
    }
}

impl<K: Eq + Hash + Clone> Claims<K> {
    /// Waits until nobody else has it. Cancel-safe.
    pub(super) async fn claim(&self, key: K) -> Claim<'_, K> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Before the look, so that one that is given back right after it is heard of.
            freed.as_mut().enable();
            if self.held.lock().insert(key.clone()) {
                return Claim { claims: self, key };
            }
            freed.await;
        }
    }
}

/// A claim; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Claim<'a, K: Eq + Hash> {
    claims: &'a Claims<K>,
    key: K,
}

impl<K: Eq + Hash> Drop for Claim<'_, K> {
    fn drop(&mut self) {
        self.claims.held.lock().remove(&self.key);
        self.claims.freed.notify_waiters();
    }
}
