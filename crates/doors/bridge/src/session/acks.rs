//! Pending acknowledgements, after which an agent may drop its frames. One acknowledgement covers many
//! frames, so that a stream is not acknowledged chunk by chunk.

use std::{collections::HashMap, time::Duration};

use jackfield_model::RequestId;
use tokio::time::Instant;

/// Delay before an acknowledgement: too short to affect the agent's memory, long enough for several chunks of
/// a model.
const DELAY: Duration = Duration::from_millis(100);

/// Bytes received from an agent that trigger an acknowledgement at once.
const MAX_BYTES: usize = 64 << 10;

/// Pending acknowledgements of one connection.
#[derive(Debug, Default)]
pub(super) struct PendingAcks {
    waiting: HashMap<RequestId, u64>,
    bytes: usize,
    due: Option<Instant>,
}

impl PendingAcks {
    /// Acknowledges the frames of a [`RequestId`] up to `seq`; `bytes` counts towards an immediate
    /// acknowledgement.
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

    /// Drops the pending acknowledgement of a request.
    pub(super) fn forget(&mut self, request: &str) {
        self.waiting.remove(request);
    }

    /// Returns when the acknowledgements are due, if any are pending.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes the pending acknowledgements.
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
        let (mut acks, r) = (PendingAcks::default(), RequestId::parse("r").unwrap());
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
