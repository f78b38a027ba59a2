//! How one reader waits for many sources: each source has a rope with a key, pulling it puts the key on the bell's
//! list, and the reader wakes once for all of them.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

/// A list of what is ready and a way to wait for it. One reader at a time.
#[derive(Debug, Default)]
pub struct Bell {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<u32>,
    /// Who waits for the first ring.
    reader: Option<Waker>,
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
        poll_fn(|cx| self.poll_each(cx, |key| keys.push(key))).await;
    }

    /// Gives the keys that rang to `hear`, which may not wait or ring; if none did, the reader is woken by the next ring.
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

    /// Moves the keys that rang into `keys`; false if none did.
    pub fn take(&self, keys: &mut Vec<u32>) -> bool {
        let ready = &mut self.state.lock().ready;
        let any = !ready.is_empty();
        keys.append(ready);
        any
    }
}

impl Rope {
    /// Rings. A source that rings again before it was heard is heard twice; pipes ring once per reading.
    pub fn pull(&self) {
        let reader = {
            let mut state = self.bell.state.lock();
            state.ready.push(self.key);
            // A reader that has heard nothing since it was woken comes by itself.
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// Lets a future that is only waited for ring like any other source.
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
