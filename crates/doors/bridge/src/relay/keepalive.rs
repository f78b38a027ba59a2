//! The period of silence after which a stream sends a keepalive.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep};

/// The maximum silence of a stream, and the timer that measures it.
#[derive(Debug)]
pub(super) struct KeepaliveTimer {
    longest: Duration,
    clock: Pin<Box<Sleep>>,
}

impl KeepaliveTimer {
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            longest,
            clock: Box::pin(sleep(longest)),
        }
    }

    /// Waits until the stream has been silent for too long, counted from now on.
    pub(super) async fn too_long(&mut self) {
        self.clock.as_mut().reset(Instant::now() + self.longest);
        self.clock.as_mut().await;
    }
}
