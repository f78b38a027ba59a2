//! Calls of peer agents from a handler, over the agent's own connection.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    output::{AgentOutput, LARGEST, OutputSender, json_len},
    reply::ReplyError,
};
use crate::{Chunk, Done, Error, Event, joined_text::JoinedText};

/// Bytes of a peer's reply that may be unread, as in the hub. Beyond this the call fails, because the
/// connection cannot wait for a single reader.
const ROOM: usize = 8 << 20;
/// Bytes counted for a chunk besides its text.
const OVERHEAD: usize = 256;

/// An agent that a handler can call ([`Reply::call_agent`](crate::Reply::call_agent)).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// Id to call the agent by.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Type of the agent: the framework or product it is made with.
    pub agent_type: String,
    /// Ids of the agent's skills.
    pub skills: Vec<String>,
    /// Description of the agent's purpose.
    pub description: Option<String>,
    /// Whether the agent can be called now.
    pub is_online: bool,
}

/// A pending discovery of peers.
#[derive(Debug)]
pub(crate) struct PeerDiscovery {
    pub(crate) skill: Option<String>,
    pub(crate) found: oneshot::Sender<Vec<PeerInfo>>,
}

/// A pending call of a peer.
#[derive(Debug)]
pub(crate) struct PeerCallRequest {
    pub(crate) target: String,
    pub(crate) text: String,
    pub(crate) session: Option<String>,
    pub(crate) with_files: bool,
    pub(crate) feed: PeerReplySender,
}

/// A call of a peer agent that has not started. Await the builder to start the call.
#[derive(Debug)]
#[must_use = "await it to begin the call"]
pub struct PeerCallBuilder {
    outlet: OutputSender,
    target: String,
    text: String,
    session: Option<String>,
    with_files: bool,
}

impl PeerCallBuilder {
    pub(super) fn new(outlet: OutputSender, target: String, text: String) -> Self {
        Self {
            outlet,
            target,
            text,
            session: None,
            with_files: false,
        }
    }

    /// Continues a conversation. Without a session, each call is a conversation of its own.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Asks for the files that result from the call. The peer offers them at the end, see [`Done::offer`].
    pub fn with_files(mut self) -> Self {
        self.with_files = true;
        self
    }

    async fn begin(self) -> Result<PeerCall, ReplyError> {
        if json_len(&self.text) > LARGEST {
            return Err(ReplyError::TooLarge);
        }
        let (feed, call) = reply_channel();
        let calling = PeerCallRequest {
            target: self.target,
            text: self.text,
            session: self.session,
            with_files: self.with_files,
            feed,
        };
        self.outlet.send(AgentOutput::Call(calling)).await?;
        Ok(call)
    }
}

impl IntoFuture for PeerCallBuilder {
    type Output = Result<PeerCall, ReplyError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}

/// A running call of a peer agent, made on behalf of the current message. Cancelling the message cancels the
/// call.
#[derive(Debug)]
pub struct PeerCall {
    events: mpsc::Receiver<PeerReplyItem>,
    over: bool,
}

impl PeerCall {
    /// Waits for the next event. Returns `None` after [`Event::Done`]. A failed call is an error.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        if self.over {
            return Ok(None);
        }
        let fed = self.events.recv().await;
        let event = fed.map_or(Err(Error::Broken), |fed| fed.event);
        self.over = !matches!(event, Ok(Event::Chunk(_)));
        event.map(Some)
    }

    /// Waits for the end and returns the joined text of the reply.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }
}

/// Sender for the reply to a peer call.
#[derive(Debug)]
pub(crate) struct PeerReplySender {
    events: mpsc::Sender<PeerReplyItem>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct PeerReplyItem {
    event: Result<Event, Error>,
    _room: Option<OwnedSemaphorePermit>,
}

fn reply_channel() -> (PeerReplySender, PeerCall) {
    // Chunks need a permit, which guarantees a slot; the end has a slot of its own.
    let (events, receiver) = mpsc::channel(ROOM / OVERHEAD + 1);
    let room = Arc::new(Semaphore::new(ROOM));
    let call = PeerCall {
        events: receiver,
        over: false,
    };
    (PeerReplySender { events, room }, call)
}

impl PeerReplySender {
    /// Returns whether the [`PeerCall`] still exists.
    pub(crate) fn has_reader(&self) -> bool {
        !self.events.is_closed()
    }

    /// Sends a piece of the reply. Returns `None` if the [`PeerCall`] was dropped or has too much unread.
    pub(crate) fn try_send_chunk(self, chunk: Chunk) -> Option<Self> {
        let weight = OVERHEAD + chunk.text.len();
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().try_acquire_many_owned(weight) else {
            self.end(Err(Error::Failed {
                code: "slow_reader".to_owned(),
                cause: None,
                message: "the answer was not read while it came".to_owned(),
            }));
            return None;
        };
        let fed = PeerReplyItem {
            event: Ok(Event::Chunk(chunk)),
            _room: Some(room),
        };
        self.events.try_send(fed).is_ok().then_some(self)
    }

    /// Waits for room, then sends a piece of the reply; for transports that can wait. Returns `None` if the
    /// [`PeerCall`] was dropped.
    #[cfg(feature = "in-process")]
    pub(crate) async fn send_chunk(self, chunk: Chunk) -> Option<Self> {
        let weight = (OVERHEAD + chunk.text.len()).min(ROOM);
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(weight).await.ok()?;
        let fed = PeerReplyItem {
            event: Ok(Event::Chunk(chunk)),
            _room: Some(room),
        };
        self.events.try_send(fed).is_ok().then_some(self)
    }

    /// Resolves when the [`PeerCall`] is dropped.
    #[cfg(feature = "in-process")]
    pub(crate) async fn reader_closed(&self) {
        self.events.closed().await;
    }

    /// Sends the end.
    pub(crate) fn end(self, end: Result<Done, Error>) {
        let fed = PeerReplyItem {
            event: end.map(Event::Done),
            _room: None,
        };
        // Fails if the reader is gone; the end is not needed then.
        self.events.try_send(fed).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_not_read_fails_after_what_there_was_room_for() {
        let (mut feed, mut call) = reply_channel();
        let large = "x".repeat(ROOM / 4);
        for _ in 0..3 {
            feed = feed.try_send_chunk(Chunk::text(&large)).unwrap();
        }
        assert!(feed.try_send_chunk(Chunk::text(&large)).is_none());
        for _ in 0..3 {
            assert!(matches!(call.next().await, Ok(Some(Event::Chunk(_)))));
        }
        let error = call.next().await.unwrap_err();
        assert_eq!(error.code(), Some("slow_reader"));
        assert!(call.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_broken() {
        let (feed, call) = reply_channel();
        drop(feed.try_send_chunk(Chunk::text("half")));
        assert!(matches!(call.text().await, Err(Error::Broken)));
    }

    #[test]
    fn a_call_that_nobody_reads_is_given_up() {
        let (feed, call) = reply_channel();
        drop(call);
        assert!(feed.try_send_chunk(Chunk::text("x")).is_none());
    }
}
