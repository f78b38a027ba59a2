//! [`KeyClaims`]: exclusive claims on keys. A second claim waits until the first is dropped.

use std::{collections::HashSet, hash::Hash};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Keys that are claimed.
#[derive(Debug)]
pub(super) struct KeyClaims<K> {
    held: Mutex<HashSet<K>>,
    freed: Notify,
}

impl<K> Default for KeyClaims<K> {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            freed: Notify::new(),
        }
    }
}

impl<K: Eq + Hash + Clone> KeyClaims<K> {
    /// Waits until no other claim on `key` exists. Cancel-safe.
    pub(super) async fn claim(&self, key: K) -> KeyClaim<'_, K> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Before the look, so that a claim that is dropped right after it is noticed.
            freed.as_mut().enable();
            if self.held.lock().insert(key.clone()) {
                return KeyClaim { claims: self, key };
            }
            freed.await;
        }
    }
}

/// A claim on a key; dropping it releases the key.
#[derive(Debug)]
pub(super) struct KeyClaim<'a, K: Eq + Hash> {
    claims: &'a KeyClaims<K>,
    key: K,
}

impl<K: Eq + Hash> Drop for KeyClaim<'_, K> {
    fn drop(&mut self) {
        self.claims.held.lock().remove(&self.key);
        self.claims.freed.notify_waiters();
    }
}
