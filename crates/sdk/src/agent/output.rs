//! Output of a handler as typed items, on the way to the transport: the bridge, or a hub of the same process.
//! [`Reply`](super::Reply) and handlers depend on nothing beyond this module.
//!
//! An item holds its share of the send budget until the transport drops the [`Said`]. A handler therefore
//! waits when too much of its output is undelivered.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{
    ask::OpenAsk,
    failure::Failure,
    peer::{Calling, Looking},
    reply::ReplyError,
};
use crate::{Artifact, Chunk, Done};

/// Bytes of undelivered output per handler: as much as the hub buffers for a slow caller.
const ROOM: usize = 1 << 20;
/// Bytes counted for an item besides its texts: frame and queue slot.
const OVERHEAD: usize = 256;
/// Largest item as JSON, in bytes: the hub's frame limit less the frame's own fields.
pub(crate) const LARGEST: usize = (8 << 20) - (64 << 10);

/// An item of the agent's output.
#[derive(Debug)]
pub(crate) enum Output {
    /// A piece of the reply.
    Chunk(Chunk),
    /// An artifact.
    Artifact(Artifact),
    /// A question.
    Ask(OpenAsk),
    /// A call of a peer agent.
    Call(Calling),
    /// A discovery of peer agents.
    Discover(Looking),
    /// The end; always the last item.
    End(End),
}

/// How the agent's work ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The handler succeeded.
    Done(Done),
    /// The handler failed.
    Failed(Failure),
}

/// An [`Output`] item and its share of the send budget.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) output: Output,
    /// Permit to hold until the item was delivered.
    pub(crate) room: OwnedSemaphorePermit,
}

/// Sender of a reply's output.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    items: mpsc::Sender<Said>,
    room: Arc<Semaphore>,
}

/// Creates an [`Outlet`] and the receiver of its items.
pub(crate) fn outlet() -> (Outlet, mpsc::Receiver<Said>) {
    // An item with a permit always has a slot in the queue.
    let (items, said) = mpsc::channel(ROOM / OVERHEAD);
    let room = Arc::new(Semaphore::new(ROOM));
    (Outlet { items, room }, said)
}

impl Outlet {
    /// Sends an item; waits for budget.
    pub(crate) async fn say(&self, output: Output) -> Result<(), ReplyError> {
        // An item larger than the whole budget takes all of it.
        let weight = u32::try_from(output.weight().min(ROOM)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(weight).await;
        let room = room.map_err(|_| ReplyError::Over)?;
        let said = Said { output, room };
        self.items.send(said).await.map_err(|_| ReplyError::Over)
    }
}

impl Output {
    /// Returns the approximate size in bytes.
    fn weight(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Chunk(chunk) => chunk.weight(),
                Self::Artifact(artifact) => artifact.weight(),
                Self::Ask(open) => open.ask.weight(),
                Self::Call(call) => call.text.len(),
                Self::Discover(_) => 0,
                Self::End(End::Done(done)) => done.weight(),
                Self::End(End::Failed(failure)) => failure.message.len(),
            }
    }
}

/// Returns the length of `value` as JSON.
pub(crate) fn json_len(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting does not fail. A value that cannot be serialized fails later, when it is sent.
    serde_json::to_writer(&mut counter, value).ok();
    counter.0
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn text(len: usize) -> Output {
        Output::Chunk(Chunk::text("x".repeat(len)))
    }

    #[tokio::test]
    async fn who_says_too_much_waits_until_what_was_said_has_arrived() {
        let (outlet, mut said) = outlet();
        outlet.say(text(ROOM)).await.unwrap();
        assert!(outlet.say(text(1)).now_or_never().is_none());
        let first = said.recv().await.unwrap();
        assert!(
            outlet.say(text(1)).now_or_never().is_none(),
            "it is only on its way"
        );
        drop(first);
        outlet.say(text(1)).now_or_never().unwrap().unwrap();
    }

    #[test]
    fn small_items_fill_the_room_too() {
        let (outlet, _said) = outlet();
        let mut count = 0;
        while let Some(done) = outlet.say(text(0)).now_or_never() {
            done.unwrap();
            count += 1;
        }
        assert_eq!(count, ROOM / OVERHEAD);
    }

    #[tokio::test]
    async fn nobody_waits_for_room_where_nobody_listens() {
        let (outlet, said) = outlet();
        outlet.say(text(ROOM)).await.unwrap();
        let waiting = outlet.say(text(1));
        drop(said);
        assert!(matches!(waiting.await, Err(ReplyError::Over)));
    }
}
