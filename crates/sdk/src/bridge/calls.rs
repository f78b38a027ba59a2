//! What the agent asks the hub for on behalf of its requests: calls of other agents, and looks at who is there.

use std::collections::{HashMap, VecDeque};

use jackfield_wire::bridge::{
    downlink::{AgentEntry, CallChunk, CallDone, CallError},
    uplink::Got,
};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::translate;
use crate::{
    Error,
    agent::{Calling, Feed, Looking},
};

/// What the hub was asked for and has not answered to the end.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<String, Open>,
    /// In the order in which they were sent, which is that of the answers: those have no id.
    looking: VecDeque<Looking>,
}

/// A call whose end has not come.
#[derive(Debug)]
struct Open {
    /// The request on whose behalf it is made.
    parent: String,
    feed: Feed,
    /// How many frames of its answer came, on all connections: the hub goes on after those.
    got: u64,
}

impl Calls {
    /// The frame that begins a call.
    pub(super) fn call(&mut self, calling: Calling, parent: &str) -> Utf8Bytes {
        let id = format!("{:032x}", rand::random::<u128>());
        let frame = translate::call(&calling, &id, parent);
        let open = Open {
            parent: parent.to_owned(),
            feed: calling.feed,
            got: 0,
        };
        self.open.insert(id, open);
        frame.into()
    }

    /// The frame that looks who is there.
    pub(super) fn discover(&mut self, looking: Looking) -> Utf8Bytes {
        let frame = translate::discover(looking.skill.as_deref());
        self.looking.push_back(looking);
        frame.into()
    }

    pub(super) fn chunk(&mut self, chunk: CallChunk<'_>) {
        let Some((id, mut open)) = self.open.remove_entry(&*chunk.call_id) else {
            return;
        };
        if let Some(feed) = open.feed.chunk(translate::call_chunk(chunk)) {
            open.feed = feed;
            open.got += 1;
            self.open.insert(id, open);
        }
    }

    pub(super) fn done(&mut self, done: &CallDone<'_>) {
        if let Some(open) = self.open.remove(&*done.call_id) {
            open.feed.end(Ok(translate::call_done(done)));
        }
    }

    pub(super) fn failed(&mut self, error: CallError<'_>) {
        if let Some(open) = self.open.remove(&*error.call_id) {
            open.feed.end(Err(Error::Failed {
                code: error.code.into_owned(),
                cause: None,
                message: error.message.into_owned(),
            }));
        }
    }

    pub(super) fn found(&mut self, entries: Vec<AgentEntry<'_>>) {
        if let Some(looking) = self.looking.pop_front() {
            let peers = entries.into_iter().map(translate::peer).collect();
            // The handler may have stopped waiting.
            looking.found.send(peers).ok();
        }
    }

    /// How far each call has come, for the hub to go on with it. It ends those that nobody reads any more.
    pub(super) fn got(&self) -> Vec<Got<'_>> {
        let read = self.open.iter().filter(|(_, open)| open.feed.is_read());
        let got = read.map(|(id, open)| Got {
            call_id: id.into(),
            got: open.got,
        });
        got.collect()
    }

    /// Goes on at a new connection with what these requests asked for; the frames ask again who is there.
    pub(super) fn resume(&mut self, goes_on: impl Fn(&str) -> bool) -> VecDeque<Utf8Bytes> {
        self.open.retain(|_, open| goes_on(&open.parent));
        self.looking.retain(|looking| !looking.found.is_closed());
        let skills = self.looking.iter().map(|looking| looking.skill.as_deref());
        skills
            .map(|skill| translate::discover(skill).into())
            .collect()
    }
}
