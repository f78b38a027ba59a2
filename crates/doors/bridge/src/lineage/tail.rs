//! The last frames of replies written to an agent, because a breaking connection loses some of them.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;

/// Maximum number of stored bytes: more than socket buffers hold of a model's output, and little for the few
/// agents that call others.
const MAX_BYTES: usize = 256 << 10;

/// Maximum age of a stored frame: a connection silent for longer is known to be dead.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Bytes that a frame counts beyond its text.
const OVERHEAD: usize = 64;

#[derive(Debug)]
struct SentFrame {
    call_id: Arc<str>,
    /// Number of the frame within its call, from 1.
    number: u64,
    frame: String,
    at: Instant,
}

impl SentFrame {
    fn weight(&self) -> usize {
        OVERHEAD + self.frame.len()
    }
}

/// The last frames, in the order of writing.
#[derive(Debug, Default)]
pub(super) struct ReplyTail {
    written: VecDeque<SentFrame>,
    bytes: usize,
}

impl ReplyTail {
    pub(super) fn push(&mut self, call_id: &Arc<str>, number: u64, frame: String, now: Instant) {
        let written = SentFrame {
            call_id: call_id.clone(),
            number,
            frame,
            at: now,
        };
        self.bytes += written.weight();
        self.written.push_back(written);
        while self.bytes > MAX_BYTES {
            self.drop_first();
        }
    }

    /// Drops old frames.
    pub(super) fn trim(&mut self, now: Instant) {
        let is_old = |first: &SentFrame| now.saturating_duration_since(first.at) > MAX_AGE;
        while self.written.front().is_some_and(is_old) {
            self.drop_first();
        }
        if self.written.is_empty() {
            // Most agents call no others: an idle connection keeps no buffer.
            self.written = VecDeque::new();
        }
    }

    fn drop_first(&mut self) {
        self.bytes -= self.written.pop_front().map_or(0, |first| first.weight());
    }

    /// Drops the frames of a call whose id is reused.
    pub(super) fn forget(&mut self, call_id: &str) {
        self.retain(|id, _| id != call_id);
    }

    /// Keeps only the frames accepted by `stays`, given call and number.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&str, u64) -> bool) {
        self.written
            .retain(|written| stays(&written.call_id, written.number));
        self.bytes = self.written.iter().map(SentFrame::weight).sum();
    }

    /// Returns the number of the last stored frame of a call.
    pub(super) fn last_of(&self, call_id: &str) -> Option<u64> {
        let mut newest = self.written.iter().rev();
        newest
            .find(|written| &*written.call_id == call_id)
            .map(|written| written.number)
    }

    /// Returns whether a frame of a call is stored; if so, all later ones are stored too.
    pub(super) fn has(&self, call_id: &str, number: u64) -> bool {
        self.written
            .iter()
            .any(|written| written.number == number && &*written.call_id == call_id)
    }

    pub(super) fn frames(&self) -> Vec<String> {
        let frames = self.written.iter().map(|written| written.frame.clone());
        frames.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(frames: &[(&str, u64, usize)]) -> ReplyTail {
        let mut tail = ReplyTail::default();
        for (call_id, number, size) in frames {
            tail.push(
                &Arc::from(*call_id),
                *number,
                "x".repeat(*size),
                Instant::now(),
            );
        }
        tail
    }

    #[test]
    fn the_oldest_frames_go_when_there_are_too_many() {
        let third = MAX_BYTES / 3;
        let tail = tail(&[
            ("a", 1, third),
            ("a", 2, third),
            ("b", 1, third),
            ("a", 3, third),
        ]);
        assert!(tail.bytes <= MAX_BYTES);
        assert!(!tail.has("a", 1) && !tail.has("a", 2) && tail.has("b", 1) && tail.has("a", 3));
        assert_eq!((tail.last_of("a"), tail.last_of("c")), (Some(3), None));
    }

    #[test]
    fn one_frame_that_is_too_large_is_not_kept() {
        let tail = tail(&[("a", 1, 10), ("a", 2, MAX_BYTES)]);
        assert_eq!((tail.bytes, tail.frames().len()), (0, 0));
    }

    #[test]
    fn what_is_old_or_of_a_call_that_is_forgotten_goes() {
        let mut tail = tail(&[("a", 1, 10), ("b", 1, 10)]);
        tail.forget("a");
        assert!(!tail.has("a", 1) && tail.has("b", 1));
        assert_eq!(tail.bytes, OVERHEAD + 10);
        tail.trim(Instant::now());
        assert!(tail.has("b", 1));
        tail.trim(Instant::now() + 2 * MAX_AGE);
        assert_eq!((tail.bytes, tail.last_of("b")), (0, None));
    }
}
