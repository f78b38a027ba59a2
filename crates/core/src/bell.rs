//! How one reader waits for many sources: each source has a rope with a key, pulling it puts the key on the bell's
//! list, and the reader wakes once for all of them.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A list of what is ready and a way to wait for it. One reader at a time.
#[derive(Debug, Default)]
pub struct Bell {
    ready: Mutex<Vec<u32>>,
    notify: Notify,
}

/// A source's end of a bell.
#[derive(Debug, Clone)]
pub struct Rope {
    bell: Arc<Bell>,
    key: u32,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A rope that rings with this key.
    pub fn rope(self: &Arc<Self>, key: u32) -> Rope {
        Rope {
            bell: self.clone(),
            key,
        }
    }

    /// Moves the keys that rang into `keys`, waiting until there is one. Cancel-safe: nothing is lost if dropped.
    pub async fn wait(&self, keys: &mut Vec<u32>) {
        while !self.take(keys) {
            self.notify.notified().await;
        }
    }

    /// Moves the keys that rang into `keys`; false if none did.
    pub fn take(&self, keys: &mut Vec<u32>) -> bool {
        let mut ready = self.ready.lock();
        let any = !ready.is_empty();
        keys.append(&mut ready);
        any
    }
}

impl Rope {
    /// Rings. A source that rings again before it was heard is heard twice; pipes ring once per reading.
    pub fn pull(&self) {
        let first = {
            let mut ready = self.bell.ready.lock();
            ready.push(self.key);
            ready.len() == 1
        };
        if first {
            self.bell.notify.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_reader_wakes_once_for_many_sources() {
        let bell = Bell::new();
        bell.rope(1).pull();
        bell.rope(2).pull();
        let mut keys = Vec::new();
        bell.wait(&mut keys).await;
        assert_eq!(keys, [1, 2]);
        assert!(!bell.take(&mut Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_ring_before_the_wait_is_heard() {
        let bell = Bell::new();
        bell.rope(7).pull();
        let mut keys = Vec::new();
        // Drop a first wait half way: the ring must not be lost with it.
        tokio::time::timeout(std::time::Duration::ZERO, bell.wait(&mut Vec::new()))
            .await
            .ok();
        bell.rope(8).pull();
        bell.wait(&mut keys).await;
        assert!(keys.contains(&8));
    }
}
