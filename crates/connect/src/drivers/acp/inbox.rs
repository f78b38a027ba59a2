//! Queue of an agent's output for the turn at work on a conversation, bounded in bytes. A full queue stops
//! reading from the agent; the hub's patience with a slow caller limits how long.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Capacity in bytes: as much as the hub buffers for a slow caller.
const ROOM: usize = 8 << 20;
/// Bytes counted for an item besides its text.
const OVERHEAD: usize = 256;

/// An item of a conversation.
#[derive(Debug)]
pub(super) enum SessionItem {
    /// Output of the agent.
    Update(Value),
    /// Request for permission.
    Permission {
        /// Id of the request.
        id: Value,
        /// Parameters of the request.
        params: Value,
    },
}

/// Sending end, used by the reader of the agent's output.
#[derive(Debug, Clone)]
pub(super) struct SessionInbox {
    items: mpsc::Sender<(SessionItem, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Receiving end, used by the turn. Dropping it releases waiting senders.
#[derive(Debug)]
pub(super) struct SessionReceiver {
    items: mpsc::Receiver<(SessionItem, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Creates an [`SessionInbox`] and its receiving end.
pub(super) fn inbox() -> (SessionInbox, SessionReceiver) {
    let (sender, receiver) = mpsc::channel(ROOM / OVERHEAD);
    let room = Arc::new(Semaphore::new(ROOM));
    let inbox = SessionInbox {
        items: sender,
        room: room.clone(),
    };
    let opened = SessionReceiver {
        items: receiver,
        room,
    };
    (inbox, opened)
}

impl SessionInbox {
    /// Sends an item of `len` bytes; waits for room. Returns the item if the turn is over.
    pub(super) async fn put(&self, item: SessionItem, len: usize) -> Result<(), SessionItem> {
        let weight = u32::try_from((len + OVERHEAD).min(ROOM)).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().acquire_many_owned(weight).await else {
            return Err(item);
        };
        let put = self.items.send((item, room)).await;
        put.map_err(|unwanted| unwanted.0.0)
    }
}

impl SessionReceiver {
    /// Waits for the next item; `None` once the agent is gone.
    pub(super) async fn next(&mut self) -> Option<SessionItem> {
        self.items.recv().await.map(|(item, _)| item)
    }

    /// Returns an item that is already queued.
    pub(super) fn ready(&mut self) -> Option<SessionItem> {
        self.items.try_recv().ok().map(|(item, _)| item)
    }
}

impl Drop for SessionReceiver {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn update() -> SessionItem {
        SessionItem::Update(Value::Null)
    }

    #[tokio::test]
    async fn who_tells_too_much_waits_until_it_is_read() {
        let (inbox, mut opened) = inbox();
        inbox.put(update(), ROOM).await.unwrap();
        assert!(inbox.put(update(), 1).now_or_never().is_none());
        assert!(opened.next().await.is_some());
        inbox.put(update(), 1).now_or_never().unwrap().unwrap();
        assert!(opened.ready().is_some());
        assert!(opened.ready().is_none());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_turn_that_is_over() {
        let (inbox, opened) = inbox();
        inbox.put(update(), ROOM).await.unwrap();
        let waiting = inbox.put(update(), 1);
        drop(opened);
        assert!(waiting.await.is_err());
    }
}
