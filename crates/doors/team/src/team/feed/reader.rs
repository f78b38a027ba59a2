//! Viewer of a feed: its access rights and its read position. Dropping a [`FeedReader`] removes the viewer from
//! the feed.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
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
    feed: Arc<EventFeed>,
    key: u64,
    /// Principal whose events are visible; `None` shows all events.
    only: Option<Principal>,
    ready_set: Option<Arc<ReadySet>>,
    ready: std::vec::IntoIter<FeedItem>,
}

/// Bytes to read at once in [`FeedReader::next`], for viewers that handle events one by one.
const BATCH: usize = 256 << 10;

impl FeedReader {
    pub(crate) fn new(feed: Arc<EventFeed>, only: Option<Principal>, since: &ReplayStart) -> Self {
        let key = feed.pool.new_viewer();
        {
            let mut state = feed.state.lock();
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
            feed,
            key,
            only,
            ready_set: None,
            ready: Vec::new().into_iter(),
        }
    }

    /// Returns the id of the viewer. Pass the id to [`Teams::send_message`](crate::Teams::send_message) to hide the viewer's
    /// own messages from the viewer; other viewers see them.
    pub fn id(&self) -> ViewerId {
        ViewerId(self.key)
    }

    /// Sets the handle that wakes the viewer when events are available or the feed closes.
    pub fn listen(&self, ready_handle: ReadyHandle) {
        self.feed.state.lock().ring.listen(self.key, ready_handle);
    }

    /// Returns whether the team was removed.
    pub fn is_closed(&self) -> bool {
        self.feed.state.lock().is_closed
    }

    /// Reads about `max` bytes of events into `seen`. Wakes the viewer again if more remain.
    pub fn read_batch(&mut self, max: usize, seen: &mut Vec<FeedItem>) {
        let mut state = self.feed.state.lock();
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
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next item, as [`next`](Self::next) does.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<FeedItem>> {
        loop {
            if let Some(seen) = self.ready.next() {
                return Poll::Ready(Some(seen));
            }
            let ready_set = self.ready_set.get_or_insert_with(|| {
                let ready_set = ReadySet::new();
                self.feed
                    .state
                    .lock()
                    .ring
                    .listen(self.key, ready_set.handle(0));
                ready_set
            });
            let mut seen = Vec::new();
            if ready_set.poll_each(cx, |_| {}).is_ready() {
                self.read_batch(BATCH, &mut seen);
            } else if self.is_closed() {
                // The set is notified once for the removal, and a batch may have left events behind.
                self.read_batch(usize::MAX, &mut seen);
                if seen.is_empty() {
                    return Poll::Ready(None);
                }
            } else {
                // Frees the list of the items that were read.
                self.ready = Vec::new().into_iter();
                return Poll::Pending;
            }
            self.ready = seen.into_iter();
        }
    }

    /// Returns the frame of an event of this feed, encoded by `encode` unless another reader did so lately.
    pub(crate) fn frame(
        &self,
        told: &FeedEvent,
        encode: impl FnOnce(&FeedEvent) -> Bytes,
    ) -> Bytes {
        self.feed.frame(told, encode)
    }

    /// Returns the current [`TeamRun`], if any, and the number of its last event.
    pub fn run(&self) -> Option<(Arc<TeamRun>, u64)> {
        self.feed.run()
    }

    /// Returns the status of a member, if the member was active in the current run.
    pub fn member_status(&self, route: &str) -> Option<AgentStatus> {
        self.feed.state.lock().standing.member(route)
    }

    /// Returns the unanswered questions visible to the viewer.
    pub fn pending(&self) -> Vec<PendingQuestion> {
        let state = self.feed.state.lock();
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
        self.feed.state.lock().ring.remove(self.key);
    }
}
