//! Message queue between a channel and its driving task: ordered, bounded in bytes, ended once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::endpoint::{ChannelError, ChannelFrame};

/// Bytes from which on a queue is full: sixteen messages of the usual size, enough that neither side waits
/// for the other.
pub(super) const FULL: usize = 1024 * 1024;
/// Bytes counted for an empty message, so that their number is bounded too.
const FRAME_COST: usize = 64;

/// Why a [`FrameQueue`] has ended.
#[derive(Debug, Clone)]
pub(super) enum QueueEnd {
    /// Closed regularly.
    Closed,
    /// The connection was lost.
    Cut(String),
}

/// Queue for one direction, with one writer and one reader.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    state: Mutex<FrameQueueState>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct FrameQueueState {
    frames: VecDeque<ChannelFrame>,
    bytes: usize,
    most: usize,
    end: Option<QueueEnd>,
}

impl FrameQueue {
    /// Adds a message once the queue has room.
    pub(super) async fn push(&self, frame: ChannelFrame) -> Result<(), ChannelError> {
        loop {
            {
                let mut state = self.state();
                if let Some(end) = &state.end {
                    return Err(ChannelError::Cut(match end {
                        QueueEnd::Closed => "it is closed".to_owned(),
                        QueueEnd::Cut(why) => why.clone(),
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

    /// Adds a message regardless of room; the writer checks [`Self::is_full`] itself.
    pub(super) fn put(&self, frame: ChannelFrame) {
        self.state().add(frame);
        self.filled.notify_one();
    }

    /// Waits for the next message; `None` once closed.
    pub(super) async fn pop(&self) -> Result<Option<ChannelFrame>, ChannelError> {
        loop {
            if let Some(frame) = self.try_pop() {
                return Ok(Some(frame));
            }
            match self.state().end.clone() {
                Some(QueueEnd::Closed) => return Ok(None),
                Some(QueueEnd::Cut(why)) => return Err(ChannelError::Cut(why)),
                None => {}
            }
            self.filled.notified().await;
        }
    }

    /// Takes the next message, if present.
    pub(super) fn try_pop(&self) -> Option<ChannelFrame> {
        let mut state = self.state();
        let frame = state.frames.pop_front()?;
        state.bytes -= cost(&frame);
        self.emptied.notify_one();
        Some(frame)
    }

    /// Ends the queue; the first reason counts.
    pub(super) fn end(&self, end: QueueEnd) {
        self.state().end.get_or_insert(end);
        self.filled.notify_one();
        self.emptied.notify_one();
    }

    /// Waits until a message was added or the queue has ended.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Waits until a message was taken.
    pub(super) async fn emptied(&self) {
        self.emptied.notified().await;
    }

    /// Returns whether the writer should wait.
    pub(super) fn is_full(&self) -> bool {
        self.state().bytes >= FULL
    }

    /// Returns whether the queue has ended and is empty.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state();
        state.frames.is_empty() && state.end.is_some()
    }

    /// Returns whether the queue has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.state().end.is_some()
    }

    /// Returns the queued bytes.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Returns the most bytes ever queued.
    pub(super) fn most(&self) -> usize {
        self.state().most
    }

    fn state(&self) -> MutexGuard<'_, FrameQueueState> {
        // No code panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrameQueueState {
    fn add(&mut self, frame: ChannelFrame) {
        self.bytes += cost(&frame);
        self.most = self.most.max(self.bytes);
        self.frames.push_back(frame);
    }
}

fn cost(frame: &ChannelFrame) -> usize {
    FRAME_COST
        + match frame {
            ChannelFrame::Text(text) => text.len(),
            ChannelFrame::Binary(bytes) => bytes.len(),
        }
}
