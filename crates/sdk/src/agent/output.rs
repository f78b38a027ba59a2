//! Output of a handler as typed items, on the way to the transport: the bridge, or a hub of the same process.
//! [`Reply`](super::Reply) and handlers depend on nothing beyond this module.
//!
//! An item holds its share of the send budget until the transport drops the [`QueuedOutput`]. A handler therefore
//! waits when too much of its output is undelivered.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{
    ask::OpenAsk,
    failure::AgentFailure,
    peer::{PeerCallRequest, PeerDiscovery},
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
pub(crate) enum AgentOutput {
    /// A piece of the reply.
    Chunk(Chunk),
    /// An artifact.
    Artifact(Artifact),
    /// A question.
    Ask(OpenAsk),
    /// A call of a peer agent.
    Call(PeerCallRequest),
    /// A discovery of peer agents.
    Discover(PeerDiscovery),
    /// The end; always the last item.
    End(HandlerEnd),
}

/// How the agent's work ended.
#[derive(Debug)]
pub(crate) enum HandlerEnd {
    /// The handler succeeded.
    Done(Done),
    /// The handler failed.
    Failed(AgentFailure),
}

/// An [`AgentOutput`] item and its share of the send budget.
#[derive(Debug)]
pub(crate) struct QueuedOutput {
    pub(crate) output: AgentOutput,
    /// Permit to hold until the item was delivered.
    pub(crate) room: OwnedSemaphorePermit,
}

/// Sender of a reply's output.
#[derive(Debug, Clone)]
pub(crate) struct OutputSender {
    items: mpsc::Sender<QueuedOutput>,
    room: Arc<Semaphore>,
}

/// Creates an [`OutputSender`] and the receiver of its items.
pub(crate) fn output_channel() -> (OutputSender, mpsc::Receiver<QueuedOutput>) {
    // An item with a permit always has a slot in the queue.
    let (items, said) = mpsc::channel(ROOM / OVERHEAD);
    let room = Arc::new(Semaphore::new(ROOM));
    (OutputSender { items, room }, said)
}

impl OutputSender {
    /// Sends an item; waits for budget.
    pub(crate) async fn send(&self, output: AgentOutput) -> Result<(), ReplyError> {
        // An item larger than the whole budget takes all of it.
        let weight = u32::try_from(output.weight().min(ROOM)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(weight).await;
        let room = room.map_err(|_| ReplyError::Over)?;
        let said = QueuedOutput { output, room };
        self.items.send(said).await.map_err(|_| ReplyError::Over)
    }
}

impl AgentOutput {
    /// Returns the approximate size in bytes.
    fn weight(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Chunk(chunk) => chunk.weight(),
                Self::Artifact(artifact) => artifact.weight(),
                Self::Ask(open) => open.ask.weight(),
                Self::Call(call) => call.text.len(),
                Self::Discover(_) => 0,
                Self::End(HandlerEnd::Done(done)) => done.weight(),
                Self::End(HandlerEnd::Failed(failure)) => failure.message.len(),
            }
    }
}

/// Returns the length of `value` as JSON.
pub(crate) fn json_len(value: &impl Serialize) -> usize {
    struct JsonLength(usize);
    impl std::io::Write for JsonLength {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = JsonLength(0);
    // Counting does not fail. A value that cannot be serialized fails later, when it is sent.
    serde_json::to_writer(&mut counter, value).ok();
    counter.0
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn text(len: usize) -> AgentOutput {
        AgentOutput::Chunk(Chunk::text("x".repeat(len)))
    }

    #[tokio::test]
    async fn who_says_too_much_waits_until_what_was_said_has_arrived() {
        let (outlet, mut said) = output_channel();
        outlet.send(text(ROOM)).await.unwrap();
        assert!(outlet.send(text(1)).now_or_never().is_none());
        let first = said.recv().await.unwrap();
        assert!(
            outlet.send(text(1)).now_or_never().is_none(),
            "it is only on its way"
        );
        drop(first);
        outlet.send(text(1)).now_or_never().unwrap().unwrap();
    }

    #[test]
    fn small_items_fill_the_room_too() {
        let (outlet, _said) = output_channel();
        let mut count = 0;
        while let Some(done) = outlet.send(text(0)).now_or_never() {
            done.unwrap();
            count += 1;
        }
        assert_eq!(count, ROOM / OVERHEAD);
    }

    #[tokio::test]
    async fn nobody_waits_for_room_where_nobody_listens() {
        let (outlet, said) = output_channel();
        outlet.send(text(ROOM)).await.unwrap();
        let waiting = outlet.send(text(1));
        drop(said);
        assert!(matches!(waiting.await, Err(ReplyError::Over)));
    }
}
