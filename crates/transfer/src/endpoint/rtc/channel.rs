//! [`RtcChannel`], the open data channel.

use std::fmt;
use std::sync::Arc;

use str0m::channel::ChannelId;
use tokio::task::JoinSet;

use super::drive::ChannelDriver;
use super::peer::RtcPeer;
use super::queue::{FULL, FrameQueue, QueueEnd};
use crate::endpoint::{Channel, ChannelError, ChannelFrame};

/// An open data channel. Dropping it ends its task and closes its sockets; the peer sees a lost connection.
///
/// A slow reader slows the sender down: at most a few MiB are buffered, regardless of the peer. Meanwhile
/// acknowledgements are not processed either, so two peers that both send a lot must both read.
///
/// Empty messages are not sent.
pub struct RtcChannel {
    inbox: Arc<FrameQueue>,
    outbox: Arc<FrameQueue>,
    driver: JoinSet<Result<(), ChannelError>>,
    max_message: usize,
}

impl RtcChannel {
    pub(super) fn start(peer: RtcPeer, id: ChannelId, max_message: usize) -> Self {
        let inbox = Arc::new(FrameQueue::default());
        let outbox = Arc::new(FrameQueue::default());
        let mut driver = JoinSet::new();
        driver.spawn(ChannelDriver::new(peer, id, Arc::clone(&inbox), Arc::clone(&outbox)).run());
        Self {
            inbox,
            outbox,
            driver,
            // A message must fit into the queue.
            max_message: max_message.min(FULL / 2),
        }
    }

    /// Returns the largest message that the peer accepts.
    pub fn max_message(&self) -> usize {
        self.max_message
    }

    /// Returns the most bytes ever queued, for sending and for reading.
    pub fn most_queued(&self) -> usize {
        self.inbox.most().max(self.outbox.most())
    }
}

#[cfg(test)]
impl RtcChannel {
    /// Waits until the peer has sent more than is read.
    pub(super) async fn inbox_is_full(&self) {
        while !self.inbox.is_full() {
            self.inbox.filled().await;
        }
    }
}

impl Channel for RtcChannel {
    async fn send(&mut self, frame: ChannelFrame) -> Result<(), ChannelError> {
        let size = match &frame {
            ChannelFrame::Text(text) => text.len(),
            ChannelFrame::Binary(bytes) => bytes.len(),
        };
        if size == 0 {
            return Ok(());
        }
        if size > self.max_message {
            return Err(ChannelError::Signal(format!(
                "it takes messages of {} bytes, not of {size}",
                self.max_message
            )));
        }
        self.outbox.push(frame).await
    }

    async fn recv(&mut self) -> Result<Option<ChannelFrame>, ChannelError> {
        self.inbox.pop().await
    }

    async fn finish(&mut self) -> Result<(), ChannelError> {
        self.outbox.end(QueueEnd::Closed);
        match self.driver.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => Err(ChannelError::Cut(error.to_string())),
            // Finished before.
            None => Ok(()),
        }
    }
}

impl fmt::Debug for RtcChannel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RtcChannel").finish_non_exhaustive()
    }
}
