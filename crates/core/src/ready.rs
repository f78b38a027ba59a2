//! [`ReadySet`]: lets one reader wait for many sources. Each source has a [`ReadyHandle`] with a key. Pulling the handle puts the key into the ready set, and the reader wakes once for all keys. Pipes and links notify; connections and recorders wait. The lock is a leaf.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

/// The keys that are ready, and a way to wait for them. One reader at a time.
#[derive(Debug, Default)]
pub struct ReadySet {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<u32>,
    /// Reader that waits for the first key.
    reader: Option<Waker>,
}

/// A source's handle of a [`ReadySet`].
#[derive(Debug, Clone)]
pub struct ReadyHandle {
    ready_set: Arc<ReadySet>,
    key: u32,
}

impl ReadySet {
    /// Creates an empty set.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns a handle that adds `key`.
    pub fn handle(self: &Arc<Self>, key: u32) -> ReadyHandle {
        ReadyHandle {
            ready_set: self.clone(),
            key,
        }
    }

    /// Moves the ready keys into `keys`, waiting until there is one. Cancel-safe.
    pub async fn wait(&self, keys: &mut Vec<u32>) {
        poll_fn(|cx| self.poll_each(cx, |key| keys.push(key))).await;
    }

    /// Passes the ready keys to `each`, which must not wait or add keys; if there are none, the next one
    /// wakes the reader.
    pub fn poll_each(&self, cx: &mut Context<'_>, each: impl FnMut(u32)) -> Poll<()> {
        let mut state = self.state.lock();
        if !state.ready.is_empty() {
            state.ready.drain(..).for_each(each);
            return Poll::Ready(());
        }
        match &mut state.reader {
            Some(reader) if reader.will_wake(cx.waker()) => {}
            reader => *reader = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Moves the ready keys into `keys`; returns false if there are none.
    pub fn take(&self, keys: &mut Vec<u32>) -> bool {
        let ready = &mut self.state.lock().ready;
        let any = !ready.is_empty();
        keys.append(ready);
        any
    }
}

impl ReadyHandle {
    /// Adds the key and wakes the reader. A key that is added twice before the reader comes is ready twice;
    /// pipes add theirs once per reading.
    pub fn notify(&self) {
        let reader = {
            let mut state = self.ready_set.state.lock();
            state.ready.push(self.key);
            // A reader that was woken and has not come yet comes by itself.
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// Lets a future that is only polled add its key like any other source.
impl Wake for ReadyHandle {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn the_reader_wakes_once_for_many_sources() {
        let ready_set = ReadySet::new();
        ready_set.handle(1).notify();
        ready_set.handle(2).notify();
        let mut keys = Vec::new();
        ready_set.wait(&mut keys).await;
        assert_eq!(keys, [1, 2]);
        assert!(!ready_set.take(&mut Vec::new()));
    }

    #[test]
    fn whoever_asked_last_is_woken_and_only_once() {
        let (ready_set, woken) = (ReadySet::new(), <[Arc<Woken>; 2]>::default());
        for reader in &woken {
            let waker = Waker::from(reader.clone());
            let polled =
                ready_set.poll_each(&mut Context::from_waker(&waker), |_| panic!("no ring"));
            assert!(polled.is_pending());
        }
        ready_set.handle(1).notify();
        ready_set.handle(2).notify();
        let times = woken.map(|reader| reader.0.load(Ordering::Relaxed));
        assert_eq!(times, [0, 1]);
        let mut keys = Vec::new();
        assert!(ready_set.take(&mut keys));
        assert_eq!(keys, [1, 2]);
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn a_wait_that_is_dropped_takes_no_ring_with_it() {
        let ready_set = ReadySet::new();
        let mut lost = Vec::new();
        {
            let mut wait = std::pin::pin!(ready_set.wait(&mut lost));
            let waker = Waker::from(Arc::new(Woken::default()));
            let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            ready_set.handle(7).notify();
        }
        let mut keys = Vec::new();
        ready_set.wait(&mut keys).await;
        assert_eq!((lost, keys), (vec![], vec![7]));
    }
}
