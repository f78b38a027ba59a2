//! The silence after which a stream says that it is alive.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep};

/// How long a stream may be silent, and the one clock that measures it.
#[derive(Debug)]
pub(super) struct Silence {
    longest: Duration,
    clock: Pin<Box<Sleep>>,
}

impl Silence {
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            longest,
            clock: Box::pin(sleep(longest)),
        }
    }

    /// Waits until it has been silent for too long, from now on.
    pub(super) async fn too_long(&mut self) {
        self.clock.as_mut().reset(Instant::now() + self.longest);
        self.clock.as_mut().await;
    }
}
