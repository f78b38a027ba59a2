//! Viewer of a feed: its access rights and its read position. Dropping a [`FeedReader`] removes the viewer from
//! the feed.

use std::sync::Arc;

use jackfield_core::{
    principal::Principal,
    ready::{ReadyHandle, ReadySet},
};

use super::{EventFeed, FeedEvent, PendingQuestion, TeamRun, ring::MissedEvents};
use crate::team::event::AgentStatus;

/// Start position of a [`FeedReader`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReplayStart {
    /// All retained events.
    #[default]
    Tail,
    /// Events after the given sequence number of the given run, or of the current run without a run id.
    /// Events of later runs are included as far as retained. Without a run id, a number beyond the current
    /// run counts as a number of an earlier run: the viewer receives all retained events.
    After(Option<String>, u64),
    /// Future events only.
    Now,
}

/// Item read from a [`FeedReader`].
#[derive(Debug, Clone)]
pub enum FeedItem {
    /// Event.
    Event(Arc<FeedEvent>),
    /// Lost events: the viewer was too slow, or disconnected for too long.
    Missed(MissedEvents),
}

/// Id of a [`FeedReader`], unique in the hub while the viewer exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewerId(u64);

/// Viewer of a [`EventFeed`].
#[derive(Debug)]
pub struct FeedReader {
    stage: Arc<EventFeed>,
    key: u64,
    /// Principal whose events are visible; `None` shows all events.
    only: Option<Principal>,
    bell: Option<Arc<ReadySet>>,
    ready: std::vec::IntoIter<FeedItem>,
}

/// Bytes to read at once in [`FeedReader::next`], for viewers that handle events one by one.
const BATCH: usize = 256 << 10;

impl FeedReader {
    pub(crate) fn new(stage: Arc<EventFeed>, only: Option<Principal>, since: &ReplayStart) -> Self {
        let key = stage.theatre.new_viewer();
        {
            let mut state = stage.state.lock();
            let current = state.run.clone();
            match since {
                ReplayStart::Now => state.ring.add(key, None),
                ReplayStart::Tail => state.ring.add(key, Some(&|_| false)),
                ReplayStart::After(None, sequence) if *sequence > state.sequence => {
                    state.ring.add(key, Some(&|_| false));
                }
                ReplayStart::After(run, sequence) => {
                    let current_id = current.as_ref().map(|run| run.id.clone());
                    let run: Option<&str> = run.as_deref().or(current_id.as_deref());
                    let is_read =
                        |told: &FeedEvent| Some(&*told.run.id) == run && told.sequence <= *sequence;
                    state.ring.add(key, Some(&is_read));
                    // Lost events of a finished run cannot be reported: the feed no longer knows the run.
                    let same = current.filter(|current| Some(&*current.id) == run);
                    if let Some(current) = same {
                        let read = (*sequence).min(state.sequence);
                        state.ring.had_read(key, current, read);
                    }
                }
            }
        }
        Self {
            stage,
            key,
            only,
            bell: None,
            ready: Vec::new().into_iter(),
        }
    }

    /// Returns the id of the viewer. Pass the id to [`Teams::send_message`](crate::Teams::send_message) to hide the viewer's
    /// own messages from the viewer; other viewers see them.
    pub fn id(&self) -> ViewerId {
        ViewerId(self.key)
    }

    /// Sets the handle that wakes the viewer when events are available or the feed closes.
    pub fn listen(&self, rope: ReadyHandle) {
        self.stage.state.lock().ring.listen(self.key, rope);
    }

    /// Returns whether the team was removed.
    pub fn is_closed(&self) -> bool {
        self.stage.state.lock().is_closed
    }

    /// Reads about `max` bytes of events into `seen`. Wakes the viewer again if more remain.
    pub fn read_batch(&mut self, max: usize, seen: &mut Vec<FeedItem>) {
        let mut state = self.stage.state.lock();
        let at = seen.len();
        let (only, id) = (self.only.as_ref(), self.id());
        let missed = state.ring.read(self.key, max, |told| {
            let is_own = told.body.is_said_by(id);
            if !is_own && only.is_none_or(|principal| told.is_visible_to(principal)) {
                seen.push(FeedItem::Event(told.clone()));
            }
        });
        if let Some(missed) = missed {
            seen.insert(at, FeedItem::Missed(missed));
        }
    }

    /// Returns the next item, or `None` after the team was removed. Cancel-safe.
    pub async fn next(&mut self) -> Option<FeedItem> {
        loop {
            if let Some(seen) = self.ready.next() {
                return Some(seen);
            }
            let bell = self.bell.get_or_insert_with(|| {
                let bell = ReadySet::new();
                self.stage
                    .state
                    .lock()
                    .ring
                    .listen(self.key, bell.handle(0));
                bell
            });
            let mut seen = Vec::new();
            if self.stage.state.lock().is_closed {
                self.read_batch(usize::MAX, &mut seen);
                if seen.is_empty() {
                    return None;
                }
            } else {
                let bell = bell.clone();
                bell.wait(&mut Vec::new()).await;
                self.read_batch(BATCH, &mut seen);
            }
            self.ready = seen.into_iter();
        }
    }

    /// Returns the current [`TeamRun`], if any, and the number of its last event.
    pub fn run(&self) -> Option<(Arc<TeamRun>, u64)> {
        self.stage.run()
    }

    /// Returns the status of a member, if the member was active in the current run.
    pub fn member_status(&self, route: &str) -> Option<AgentStatus> {
        self.stage.state.lock().standing.member(route)
    }

    /// Returns the unanswered questions visible to the viewer.
    pub fn pending(&self) -> Vec<PendingQuestion> {
        let state = self.stage.state.lock();
        let is_seen = |pending: &&PendingQuestion| {
            let only = self.only.as_ref();
            only.is_none_or(|principal| pending.caller.is(principal))
        };
        let pending = state.standing.pending().iter();
        pending.filter(is_seen).cloned().collect()
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        self.stage.state.lock().ring.remove(self.key);
    }
}
