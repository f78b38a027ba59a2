//! Where what an agent tells of one conversation waits for the turn at work on it: bounded in bytes. While it is full the
//! agent is not read, which lasts no longer than the hub has patience with a caller who does not listen.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How much may wait, in bytes: as much as the hub holds for a slow caller.
const ROOM: usize = 8 << 20;
/// What an item weighs besides its text.
const OVERHEAD: usize = 256;

/// Something about a conversation.
#[derive(Debug)]
pub(super) enum Item {
    /// What the agent says or does.
    Update(Value),
    /// It wants to be allowed something.
    Permission {
        /// The request.
        id: Value,
        /// What it wants.
        params: Value,
    },
}

/// The end into which the reader of the agent puts things.
#[derive(Debug, Clone)]
pub(super) struct Inbox {
    items: mpsc::Sender<(Item, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// The end of the turn. Dropping it lets nobody wait for room any more.
#[derive(Debug)]
pub(super) struct Opened {
    items: mpsc::Receiver<(Item, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// A new inbox.
pub(super) fn inbox() -> (Inbox, Opened) {
    let (sender, receiver) = mpsc::channel(ROOM / OVERHEAD);
    let room = Arc::new(Semaphore::new(ROOM));
    let inbox = Inbox {
        items: sender,
        room: room.clone(),
    };
    let opened = Opened {
        items: receiver,
        room,
    };
    (inbox, opened)
}

impl Inbox {
    /// Puts something in that is so long; waits for room. Gives back what nobody wants any more.
    pub(super) async fn put(&self, item: Item, len: usize) -> Result<(), Item> {
        let weight = u32::try_from((len + OVERHEAD).min(ROOM)).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().acquire_many_owned(weight).await else {
            return Err(item);
        };
        let put = self.items.send((item, room)).await;
        put.map_err(|unwanted| unwanted.0.0)
    }
}

impl Opened {
    /// The next thing; nothing once the agent is gone.
    pub(super) async fn next(&mut self) -> Option<Item> {
        self.items.recv().await.map(|(item, _)| item)
    }

    /// What is there already.
    pub(super) fn ready(&mut self) -> Option<Item> {
        self.items.try_recv().ok().map(|(item, _)| item)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn update() -> Item {
        Item::Update(Value::Null)
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
