//! [`StillClock`]: time that only the test moves.

use std::{sync::mpsc, time::Duration};

use jackfield_kit::testing::SOON;
use tokio::{task::JoinSet, time};

/// Stops the clock of a test with paused time until the test moves it: while something blocks, the runtime does not
/// advance time to the next timer.
pub(crate) struct StillClock {
    _release: mpsc::Sender<()>,
    _blocked: JoinSet<()>,
}

impl StillClock {
    /// Stops the clock.
    pub(crate) fn new() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let mut blocked = JoinSet::new();
        blocked.spawn_blocking(move || {
            // Ends when the sender is dropped. If the test hangs, time runs again, and timeouts end the test.
            released.recv_timeout(SOON).ok();
        });
        Self {
            _release: release,
            _blocked: blocked,
        }
    }

    /// Advances the clock.
    pub(crate) async fn pass(&self, time: Duration) {
        time::advance(time).await;
    }
}
