//! Requests of the agent to the hub on behalf of its handlers: calls of peer agents, and discovery.

use std::collections::{HashMap, VecDeque};

use jackfield_wire::bridge::{
    downlink::{CallChunk, CallDone, CallError, DiscoveredAgent},
    uplink::CallProgress,
};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::translate;
use crate::{
    Error,
    agent::{PeerCallRequest, PeerDiscovery, PeerReplySender},
};

/// Open calls and discoveries of the agent.
#[derive(Debug, Default)]
pub(super) struct PeerCalls {
    open: HashMap<String, OpenPeerCall>,
    /// Open discoveries, in the order sent. The hub answers in the same order; answers have no id.
    looking: VecDeque<PeerDiscovery>,
}

/// A call without an end yet.
#[derive(Debug)]
struct OpenPeerCall {
    /// Id of the request on whose behalf the call is made.
    parent: String,
    feed: PeerReplySender,
    /// Number of reply frames received, on all connections. The hub resumes after them.
    got: u64,
}

impl PeerCalls {
    /// Registers a call and returns the frame that starts it.
    pub(super) fn call(&mut self, calling: PeerCallRequest, parent: &str) -> Utf8Bytes {
        let id = format!("{:032x}", rand::random::<u128>());
        let frame = translate::call(&calling, &id, parent);
        let open = OpenPeerCall {
            parent: parent.to_owned(),
            feed: calling.feed,
            got: 0,
        };
        self.open.insert(id, open);
        frame.into()
    }

    /// Registers a discovery and returns its frame.
    pub(super) fn discover(&mut self, looking: PeerDiscovery) -> Utf8Bytes {
        let frame = translate::discover(looking.skill.as_deref());
        self.looking.push_back(looking);
        frame.into()
    }

    pub(super) fn chunk(&mut self, chunk: CallChunk<'_>) {
        let Some((id, mut open)) = self.open.remove_entry(&*chunk.call_id) else {
            return;
        };
        if let Some(feed) = open.feed.try_send_chunk(translate::call_chunk(chunk)) {
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

    pub(super) fn discovered(&mut self, entries: Vec<DiscoveredAgent<'_>>) {
        if let Some(looking) = self.looking.pop_front() {
            let peers = entries.into_iter().map(translate::peer).collect();
            // The handler may have stopped waiting.
            looking.found.send(peers).ok();
        }
    }

    /// Returns the progress of each call, for the hub to resume. The hub ends calls that are missing in the
    /// list because their reader is gone.
    pub(super) fn progress(&self) -> Vec<CallProgress<'_>> {
        let read = self.open.iter().filter(|(_, open)| open.feed.has_reader());
        let got = read.map(|(id, open)| CallProgress {
            call_id: id.into(),
            got: open.got,
        });
        got.collect()
    }

    /// Continues on a new connection with the calls of requests that satisfy `goes_on`. Returns frames that
    /// repeat open discoveries.
    pub(super) fn resume(&mut self, goes_on: impl Fn(&str) -> bool) -> VecDeque<Utf8Bytes> {
        self.open.retain(|_, open| goes_on(&open.parent));
        self.looking.retain(|looking| !looking.found.is_closed());
        let skills = self.looking.iter().map(|looking| looking.skill.as_deref());
        skills
            .map(|skill| translate::discover(skill).into())
            .collect()
    }
}
