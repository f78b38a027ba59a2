//! Calling other agents from a handler, over the agent's own connection.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    output::{LARGEST, Outlet, Output, json_len},
    reply::ReplyError,
};
use crate::{Chunk, Done, Error, Event, joined_text::JoinedText};

/// How much of an answer may be unread, in bytes; as the hub has it. Beyond it the call fails: the connection cannot
/// wait for one reader.
const ROOM: usize = 8 << 20;
/// What a chunk weighs besides its text.
const OVERHEAD: usize = 256;

/// Another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its id, by which it is called.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is made with.
    pub agent_type: String,
    /// What it can do.
    pub skills: Vec<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it can be called now.
    pub is_online: bool,
}

/// A look at who is there, on its way.
#[derive(Debug)]
pub(crate) struct Looking {
    pub(crate) skill: Option<String>,
    pub(crate) found: oneshot::Sender<Vec<Peer>>,
}

/// A call on its way.
#[derive(Debug)]
pub(crate) struct Calling {
    pub(crate) target: String,
    pub(crate) text: String,
    pub(crate) session: Option<String>,
    pub(crate) with_files: bool,
    pub(crate) feed: Feed,
}

/// A call of another agent that has not begun; await it to begin it.
#[derive(Debug)]
#[must_use = "await it to begin the call"]
pub struct PeerCallBuilder {
    outlet: Outlet,
    target: String,
    text: String,
    session: Option<String>,
    with_files: bool,
}

impl PeerCallBuilder {
    pub(super) fn new(outlet: Outlet, target: String, text: String) -> Self {
        Self {
            outlet,
            target,
            text,
            session: None,
            with_files: false,
        }
    }

    /// The conversation to go on with; without it, each call is one of its own.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Ask for the files that come of it; the agent offers them at the end, see [`Done::offer`].
    pub fn with_files(mut self) -> Self {
        self.with_files = true;
        self
    }

    async fn begin(self) -> Result<PeerCall, ReplyError> {
        if json_len(&self.text) > LARGEST {
            return Err(ReplyError::TooLarge);
        }
        let (feed, call) = feed();
        let calling = Calling {
            target: self.target,
            text: self.text,
            session: self.session,
            with_files: self.with_files,
            feed,
        };
        self.outlet.say(Output::Call(calling)).await?;
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

/// A call of another agent. It is made on behalf of the message at hand: when that is cancelled, so is this.
#[derive(Debug)]
pub struct PeerCall {
    events: mpsc::Receiver<Fed>,
    over: bool,
}

impl PeerCall {
    /// The next event; nothing after [`Event::Done`]. A call that failed is an error.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        if self.over {
            return Ok(None);
        }
        let fed = self.events.recv().await;
        let event = fed.map_or(Err(Error::Broken), |fed| fed.event);
        self.over = !matches!(event, Ok(Event::Chunk(_)));
        event.map(Some)
    }

    /// Waits for the end and joins the text on the way.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }
}

/// Where the answer to a call is put.
#[derive(Debug)]
pub(crate) struct Feed {
    events: mpsc::Sender<Fed>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Fed {
    event: Result<Event, Error>,
    _room: Option<OwnedSemaphorePermit>,
}

fn feed() -> (Feed, PeerCall) {
    // Chunks bring their room along; the end has a place of its own.
    let (events, receiver) = mpsc::channel(ROOM / OVERHEAD + 1);
    let room = Arc::new(Semaphore::new(ROOM));
    let call = PeerCall {
        events: receiver,
        over: false,
    };
    (Feed { events, room }, call)
}

impl Feed {
    /// Whether somebody reads it.
    pub(crate) fn is_read(&self) -> bool {
        !self.events.is_closed()
    }

    /// Puts a piece of the answer. Gives the feed up if nobody reads it.
    pub(crate) fn chunk(self, chunk: Chunk) -> Option<Self> {
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
        let fed = Fed {
            event: Ok(Event::Chunk(chunk)),
            _room: Some(room),
        };
        self.events.try_send(fed).is_ok().then_some(self)
    }

    /// Waits for room and puts a piece of the answer, where whoever brings it can wait. Gives the feed up if nobody reads
    /// it.
    #[cfg(feature = "in-process")]
    pub(crate) async fn chunk_when_read(self, chunk: Chunk) -> Option<Self> {
        let weight = (OVERHEAD + chunk.text.len()).min(ROOM);
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(weight).await.ok()?;
        let fed = Fed {
            event: Ok(Event::Chunk(chunk)),
            _room: Some(room),
        };
        self.events.try_send(fed).is_ok().then_some(self)
    }

    /// Resolves when nobody reads it any more.
    #[cfg(feature = "in-process")]
    pub(crate) async fn left(&self) {
        self.events.closed().await;
    }

    /// Puts the end.
    pub(crate) fn end(self, end: Result<Done, Error>) {
        let fed = Fed {
            event: end.map(Event::Done),
            _room: None,
        };
        // Who does not read any more does not want to know.
        self.events.try_send(fed).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_not_read_fails_after_what_there_was_room_for() {
        let (mut feed, mut call) = feed();
        let large = "x".repeat(ROOM / 4);
        for _ in 0..3 {
            feed = feed.chunk(Chunk::text(&large)).unwrap();
        }
        assert!(feed.chunk(Chunk::text(&large)).is_none());
        for _ in 0..3 {
            assert!(matches!(call.next().await, Ok(Some(Event::Chunk(_)))));
        }
        let error = call.next().await.unwrap_err();
        assert_eq!(error.code(), Some("slow_reader"));
        assert!(call.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_broken() {
        let (feed, call) = feed();
        drop(feed.chunk(Chunk::text("half")));
        assert!(matches!(call.text().await, Err(Error::Broken)));
    }

    #[test]
    fn a_call_that_nobody_reads_is_given_up() {
        let (feed, call) = feed();
        drop(call);
        assert!(feed.chunk(Chunk::text("x")).is_none());
    }
}
