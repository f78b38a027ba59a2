//! What an agent is yet to be told that it may forget. One frame says it for many, so that a stream is not acknowledged
//! chunk by chunk.

use std::{collections::HashMap, time::Duration};

use jackfield_model::RequestId;
use tokio::time::Instant;

/// How long an agent waits to be told: too short to matter to what it keeps, long enough for several chunks of a model.
const DELAY: Duration = Duration::from_millis(100);

/// How much of it an agent sends before it is told, however fast.
const MAX_BYTES: usize = 64 << 10;

/// What is yet to be said.
#[derive(Debug, Default)]
pub(super) struct Acks {
    waiting: HashMap<RequestId, u64>,
    bytes: usize,
    due: Option<Instant>,
}

impl Acks {
    /// The agent may forget its frames of a request up to this number; so many bytes have come since the last look.
    pub(super) fn add(&mut self, request: &RequestId, seq: u64, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= MAX_BYTES {
            self.due = Some(Instant::now());
        } else if self.due.is_none() {
            self.due = Some(Instant::now() + DELAY);
        }
        match self.waiting.get_mut(request.as_str()) {
            Some(known) => *known = seq.max(*known),
            None => drop(self.waiting.insert(request.clone(), seq)),
        }
    }

    /// The agent has nothing to keep of a request any more.
    pub(super) fn forget(&mut self, request: &str) {
        self.waiting.remove(request);
    }

    /// When it is to be said, if there is something to say.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What is to be said now.
    pub(super) fn take(&mut self) -> HashMap<RequestId, u64> {
        (self.bytes, self.due) = (0, None);
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_frames_are_acknowledged_by_one_with_the_highest_number() {
        let (mut acks, r) = (Acks::default(), RequestId::parse("r").unwrap());
        let start = Instant::now();
        for seq in [1, 2, 4, 3] {
            acks.add(&r, seq, 10);
            tokio::time::advance(Duration::from_millis(20)).await;
        }
        assert_eq!(acks.due(), Some(start + DELAY));
        assert_eq!(acks.take(), HashMap::from([(r.clone(), 4)]));
        assert_eq!(acks.due(), None);
        acks.add(&r, 5, MAX_BYTES);
        assert_eq!(acks.due(), Some(Instant::now()), "much came at once");
        acks.forget("r");
        assert!(acks.take().is_empty());
    }
}
