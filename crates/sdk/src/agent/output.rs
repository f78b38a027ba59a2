//! What an agent says while it works, as typed items on the way to whoever carries them: the bridge, or a hub of the same
//! process. Neither a reply nor a handler knows more of the outside than this.
//!
//! An item holds its room until whoever carries it lets go of it, so that a handler waits when too much of what it said
//! has not arrived.

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

/// How much one handler may have said that has not arrived, in bytes: as much as the hub holds for a slow caller.
const ROOM: usize = 1 << 20;
/// What an item weighs besides its texts: its frame, and its place in the queue.
const OVERHEAD: usize = 256;
/// The largest item as JSON, in bytes: what the hub takes in one frame, less the frame itself.
pub(crate) const LARGEST: usize = (8 << 20) - (64 << 10);

/// Something that the agent says.
#[derive(Debug)]
pub(crate) enum Output {
    /// A piece of the answer.
    Chunk(Chunk),
    /// An artifact.
    Artifact(Artifact),
    /// A question.
    Ask(OpenAsk),
    /// A call of another agent.
    Call(Calling),
    /// A look at who is there.
    Discover(Looking),
    /// The end; nothing comes after it.
    End(End),
}

/// How the agent's work ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The agent is done.
    Done(Done),
    /// The agent failed.
    Failed(Failure),
}

/// An item and the room it takes.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) output: Output,
    /// To be held until what was said has arrived.
    pub(crate) room: OwnedSemaphorePermit,
}

/// Where a reply puts what it says.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    items: mpsc::Sender<Said>,
    room: Arc<Semaphore>,
}

/// An outlet, and what comes out of it.
pub(crate) fn outlet() -> (Outlet, mpsc::Receiver<Said>) {
    // Whoever has room for an item has a place in the queue as well.
    let (items, said) = mpsc::channel(ROOM / OVERHEAD);
    let room = Arc::new(Semaphore::new(ROOM));
    (Outlet { items, room }, said)
}

impl Outlet {
    /// Says something; waits for room.
    pub(crate) async fn say(&self, output: Output) -> Result<(), ReplyError> {
        // One item that is larger than all the room takes all of it.
        let weight = u32::try_from(output.weight().min(ROOM)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(weight).await;
        let room = room.map_err(|_| ReplyError::Over)?;
        let said = Said { output, room };
        self.items.send(said).await.map_err(|_| ReplyError::Over)
    }
}

impl Output {
    /// About how many bytes it takes.
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

/// How long a value is as JSON.
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
    // Counting does not fail, and what cannot be written is found when it is.
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
