//! Messages between a channel and the task that drives it: in order, bounded by bytes, and ended once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{ChannelError, Frame};

/// From here on a queue is full. Sixteen messages of the usual size: enough that neither side waits for the other.
pub(super) const FULL: usize = 1024 * 1024;
/// What an empty message counts, so that many of them are bounded too.
const FRAME_COST: usize = 64;

/// Why nothing more will come.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// It was closed, as it should be.
    Closed,
    /// It was cut.
    Cut(String),
}

/// One direction. There is one writer and one reader.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<Frame>,
    bytes: usize,
    most: usize,
    end: Option<End>,
}

impl Queue {
    /// Adds a message as soon as there is room.
    pub(super) async fn push(&self, frame: Frame) -> Result<(), ChannelError> {
        loop {
            {
                let mut state = self.state();
                if let Some(end) = &state.end {
                    return Err(ChannelError::Cut(match end {
                        End::Closed => "it is closed".to_owned(),
                        End::Cut(why) => why.clone(),
                    }));
                }
                if state.bytes < FULL {
                    state.add(frame);
                    self.filled.notify_one();
                    return Ok(());
                }
            }
            self.emptied.notified().await;
        }
    }

    /// Adds a message, room or not; the writer looks at [`Self::is_full`] itself.
    pub(super) fn put(&self, frame: Frame) {
        self.state().add(frame);
        self.filled.notify_one();
    }

    /// The next message; nothing once it is closed.
    pub(super) async fn pop(&self) -> Result<Option<Frame>, ChannelError> {
        loop {
            if let Some(frame) = self.try_pop() {
                return Ok(Some(frame));
            }
            match self.state().end.clone() {
                Some(End::Closed) => return Ok(None),
                Some(End::Cut(why)) => return Err(ChannelError::Cut(why)),
                None => {}
            }
            self.filled.notified().await;
        }
    }

    /// The next message, if it is there.
    pub(super) fn try_pop(&self) -> Option<Frame> {
        let mut state = self.state();
        let frame = state.frames.pop_front()?;
        state.bytes -= cost(&frame);
        self.emptied.notify_one();
        Some(frame)
    }

    /// Nothing more comes, for this reason. The first one counts.
    pub(super) fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.filled.notify_one();
        self.emptied.notify_one();
    }

    /// Waits until something was added or it has ended.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Waits until something was taken.
    pub(super) async fn emptied(&self) {
        self.emptied.notified().await;
    }

    /// Whether the writer should wait.
    pub(super) fn is_full(&self) -> bool {
        self.state().bytes >= FULL
    }

    /// Whether all was taken and nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state();
        state.frames.is_empty() && state.end.is_some()
    }

    /// Whether nothing more comes.
    pub(super) fn is_ended(&self) -> bool {
        self.state().end.is_some()
    }

    /// The bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// The most bytes that ever waited.
    pub(super) fn most(&self) -> usize {
        self.state().most
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nobody can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, frame: Frame) {
        self.bytes += cost(&frame);
        self.most = self.most.max(self.bytes);
        self.frames.push_back(frame);
    }
}

fn cost(frame: &Frame) -> usize {
    FRAME_COST
        + match frame {
            Frame::Text(text) => text.len(),
            Frame::Binary(bytes) => bytes.len(),
        }
}
