//! Encoded frames of a feed's events for readers of the SSE stream. Most readers read an event at about the
//! same time; the first of them encodes the event for all.
//!
//! Unlike the text for WebSocket viewers, frames are not kept as long as the event: the ring would need more
//! memory for them. A reader that is far from all others encodes its events itself.

use std::collections::VecDeque;

use bytes::Bytes;

/// Bytes of frames to keep: about what a reader takes from the ring at once.
const MAX: usize = 256 << 10;

/// The frames that were encoded last, by the id of their event.
#[derive(Debug, Default)]
pub(super) struct RecentFrames {
    frames: VecDeque<(u128, Bytes)>,
    bytes: usize,
}

impl RecentFrames {
    /// Returns the frame of an event, if it was encoded lately. Most readers want the newest frame.
    pub(super) fn get(&self, event: u128) -> Option<Bytes> {
        let mut newest_first = self.frames.iter().rev();
        let found = newest_first.find(|(id, _)| *id == event);
        found.map(|(_, frame)| frame.clone())
    }

    /// Keeps the frame of an event, and forgets the oldest frames beyond [`MAX`].
    pub(super) fn add(&mut self, event: u128, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back((event, frame));
        while self.bytes > MAX
            && let Some((_, oldest)) = self.frames.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_kept_up_to_a_limit_and_the_oldest_are_forgotten() {
        let mut recent = RecentFrames::default();
        for id in 0..10 {
            recent.add(id, Bytes::from(vec![b'x'; MAX / 4]));
        }
        assert_eq!(recent.bytes, MAX);
        assert_eq!(recent.get(5), None);
        assert_eq!(recent.get(6).map(|frame| frame.len()), Some(MAX / 4));
        recent.add(10, Bytes::from(vec![b'x'; MAX + 1]));
        assert_eq!((recent.bytes, recent.frames.len()), (0, 0));
    }
}
