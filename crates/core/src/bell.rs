//! [`Bell`]: lets one reader wait for many sources. Each source has a [`Rope`] with a key. Pulling the rope puts the key into the ready set, and the reader wakes once for all keys. Pipes and links pull; connections and recorders wait. The lock is a leaf.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

/// The keys that are ready, and a way to wait for them. One reader at a time.
#[derive(Debug, Default)]
pub struct Bell {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<u32>,
    /// Reader that waits for the first key.
    reader: Option<Waker>,
}

/// A source's handle of a [`Bell`].
#[derive(Debug, Clone)]
pub struct Rope {
    bell: Arc<Bell>,
    key: u32,
}

impl Bell {
    /// Creates an empty set.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns a handle that adds `key`.
    pub fn rope(self: &Arc<Self>, key: u32) -> Rope {
        Rope {
            bell: self.clone(),
            key,
        }
    }

    /// Moves the ready keys into `keys`, waiting until there is one. Cancel-safe.
    pub async fn wait(&self, keys: &mut Vec<u32>) {
        poll_fn(|cx| self.poll_each(cx, |key| keys.push(key))).await;
    }

    /// Passes the ready keys to `hear`, which must not wait or add keys; if there are none, the next one
    /// wakes the reader.
    pub fn poll_each(&self, cx: &mut Context<'_>, hear: impl FnMut(u32)) -> Poll<()> {
        let mut state = self.state.lock();
        if !state.ready.is_empty() {
            state.ready.drain(..).for_each(hear);
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

impl Rope {
    /// Adds the key and wakes the reader. A key that is added twice before the reader comes is ready twice;
    /// pipes add theirs once per reading.
    pub fn pull(&self) {
        let reader = {
            let mut state = self.bell.state.lock();
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
impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.pull();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[test]
    fn whoever_asked_last_is_woken_and_only_once() {
        let (bell, woken) = (Bell::new(), <[Arc<Woken>; 2]>::default());
        for reader in &woken {
            let waker = Waker::from(reader.clone());
            let polled = bell.poll_each(&mut Context::from_waker(&waker), |_| panic!("no ring"));
            assert!(polled.is_pending());
        }
        bell.rope(1).pull();
        bell.rope(2).pull();
        let times = woken.map(|reader| reader.0.load(Ordering::Relaxed));
        assert_eq!(times, [0, 1]);
        let mut keys = Vec::new();
        assert!(bell.take(&mut keys));
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
        let bell = Bell::new();
        let mut lost = Vec::new();
        {
            let mut wait = std::pin::pin!(bell.wait(&mut lost));
            let waker = Waker::from(Arc::new(Woken::default()));
            let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            bell.rope(7).pull();
        }
        let mut keys = Vec::new();
        bell.wait(&mut keys).await;
        assert_eq!((lost, keys), (vec![], vec![7]));
    }
}
