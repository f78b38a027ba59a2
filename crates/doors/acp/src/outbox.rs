//! The frames that wait for an editor: bounded in bytes, so that a prompt waits for an editor that reads slowly.

use std::sync::Arc;

use jackfield_core::ready::ReadyHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::limits::OUTBOX;

/// Bytes that count for a frame besides its text.
const OVERHEAD: usize = 256;

/// Sending end, shared by the prompts of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    frames: mpsc::Sender<QueuedFrame>,
    /// Bytes that are free.
    room: Arc<Semaphore>,
    ready: Arc<ReadyHandle>,
}

/// Receiving end, of the connection. Dropping it lets senders go on: their frames are lost.
#[derive(Debug)]
pub(crate) struct OutboxReader {
    frames: mpsc::Receiver<QueuedFrame>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct QueuedFrame {
    text: String,
    _room: OwnedSemaphorePermit,
}

/// Creates an empty outbox. `ready` is notified when there is a frame to read.
pub(crate) fn outbox(ready: ReadyHandle) -> (Outbox, OutboxReader) {
    // Every frame holds at least its overhead, so the channel is never full before `room` is used up.
    let (sender, receiver) = mpsc::channel(OUTBOX / OVERHEAD);
    let room = Arc::new(Semaphore::new(OUTBOX));
    let outbox = Outbox {
        frames: sender,
        room: room.clone(),
        ready: Arc::new(ready),
    };
    let reader = OutboxReader {
        frames: receiver,
        room,
    };
    (outbox, reader)
}

impl Outbox {
    /// Queues a frame, once there is room. A frame that is larger than the outbox waits until the outbox is empty. Returns at
    /// once if the connection is gone.
    pub(crate) async fn send(&self, text: String) {
        let weight = (text.len() + OVERHEAD).min(OUTBOX);
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        // The semaphore is closed, and the channel too, when the connection is gone.
        if let Ok(room) = self.room.clone().acquire_many_owned(weight).await {
            let frame = QueuedFrame { text, _room: room };
            self.frames.send(frame).await.ok();
            self.ready.notify();
        }
    }
}

impl OutboxReader {
    /// Returns the next frame, if there is one.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.frames.try_recv().ok().map(|frame| frame.text)
    }
}

impl Drop for OutboxReader {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use jackfield_core::ready::ReadySet;

    use super::*;

    #[tokio::test]
    async fn a_full_outbox_makes_its_senders_wait_until_it_is_read() {
        let ready_set = ReadySet::new();
        let (outbox, mut reader) = outbox(ready_set.handle(1));
        outbox.send("x".repeat(OUTBOX - 1)).await;
        let mut waiting = Box::pin(outbox.send("second".to_owned()));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(reader.next().unwrap().len(), OUTBOX - 1);
        waiting.await;
        assert_eq!(reader.next().as_deref(), Some("second"));
        assert_eq!(reader.next(), None);
    }

    #[tokio::test]
    async fn a_frame_larger_than_the_outbox_goes_alone() {
        let ready_set = ReadySet::new();
        let (outbox, mut reader) = outbox(ready_set.handle(1));
        outbox.send("x".repeat(2 * OUTBOX)).await;
        assert!(outbox.send("y".to_owned()).now_or_never().is_none());
        assert_eq!(reader.next().unwrap().len(), 2 * OUTBOX);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_connection_that_is_gone() {
        let ready_set = ReadySet::new();
        let (outbox, reader) = outbox(ready_set.handle(1));
        outbox.send("x".repeat(OUTBOX)).await;
        drop(reader);
        outbox.send("y".to_owned()).await;
    }
}
