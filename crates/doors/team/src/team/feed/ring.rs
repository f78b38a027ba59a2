//! Ring of the most recent events of a feed, with a read position per viewer. Positions count up forever,
//! across runs.

use std::{collections::VecDeque, sync::Arc};

use jackfield_core::ready::ReadyHandle;

use super::{CallPosition, FeedEvent, TeamRun};
use crate::team::event::{EventBody, MemberEvent};

/// Most recent [`FeedEvent`] events of a feed.
#[derive(Debug, Default)]
pub(super) struct EventRing {
    items: VecDeque<Arc<FeedEvent>>,
    /// Position of the first item.
    first: u64,
    bytes: usize,
    /// In the order of their keys: a thousand viewers read after every event.
    viewers: Vec<ViewerCursor>,
}

/// Read state of a viewer.
#[derive(Debug)]
struct ViewerCursor {
    key: u64,
    /// Position of the next event to read.
    next: u64,
    /// Run and number of the last event read, for computing missed events.
    last: Option<(Arc<TeamRun>, u64)>,
    ready_handle: Option<ReadyHandle>,
    /// Whether the viewer was woken and has not read since.
    is_rung: bool,
}

/// Range of [`FeedEvent`] events lost to a slow viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedEvents {
    /// Run of the events.
    pub run: Arc<TeamRun>,
    /// Number of the first lost event.
    pub from: u64,
    /// Number of the last lost event.
    pub to: u64,
}

impl EventRing {
    fn end(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(super) fn push(&mut self, told: Arc<FeedEvent>) {
        self.bytes += told.weight;
        self.items.push_back(told);
        self.wake_all();
    }

    pub(super) fn wake_all(&mut self) {
        for slot in &mut self.viewers {
            slot.wake();
        }
    }

    /// Returns the start and end events of the newest segment with id `wanted` at `position`, without content
    /// events.
    pub(super) fn segment(&self, position: &CallPosition, wanted: &str) -> Vec<Arc<FeedEvent>> {
        let mut found = Vec::new();
        for told in self.items.iter().rev() {
            let EventBody::Member { name, event, .. } = &*told.body else {
                continue;
            };
            let (id, is_first) = match event {
                MemberEvent::SegmentStart { id, .. } => (id, true),
                MemberEvent::SegmentEnd { id, .. } => (id, false),
                _ => continue,
            };
            if **id == *wanted && *name == position.name && told.path == position.path {
                found.insert(0, told.clone());
                if is_first {
                    break;
                }
            }
        }
        found
    }

    /// Evicts the oldest events: events read by all viewers until `tail` bytes remain, and any events until
    /// `max` bytes remain. Returns the number of evicted bytes.
    pub(super) fn trim(&mut self, tail: usize, max: usize) -> usize {
        let before = self.bytes;
        if self.bytes > tail {
            let needed = self.viewers.iter().map(|slot| slot.next).min();
            let needed = needed.unwrap_or(u64::MAX);
            while self.items.len() > 1
                && (self.bytes > max || (self.bytes > tail && self.first < needed))
            {
                let oldest = self.items.pop_front().expect("there is more than one");
                self.bytes -= oldest.weight;
                self.first += 1;
            }
        }
        before - self.bytes
    }

    pub(super) fn clear(&mut self) -> usize {
        self.first = self.end();
        self.items.clear();
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn has_viewers(&self) -> bool {
        !self.viewers.is_empty()
    }

    /// Adds a viewer. The viewer starts at the first item that does not satisfy `is_seen`, or with future
    /// events for `None`.
    pub(super) fn add(&mut self, key: u64, is_seen: Option<&dyn Fn(&FeedEvent) -> bool>) {
        let next = match is_seen {
            None => self.end(),
            Some(is_seen) => {
                let seen = self.items.iter().take_while(|told| is_seen(told)).count();
                self.first + seen as u64
            }
        };
        let cursor = ViewerCursor {
            key,
            next,
            last: None,
            ready_handle: None,
            is_rung: false,
        };
        let at = self.viewers.partition_point(|slot| slot.key < key);
        self.viewers.insert(at, cursor);
    }

    /// Records the last event that a reconnecting viewer has already read, for computing missed events.
    pub(super) fn had_read(&mut self, key: u64, run: Arc<TeamRun>, sequence: u64) {
        if let Some(slot) = self.slot(key) {
            slot.last = Some((run, sequence));
        }
    }

    pub(super) fn remove(&mut self, key: u64) {
        self.viewers.retain(|slot| slot.key != key);
    }

    fn slot(&mut self, key: u64) -> Option<&mut ViewerCursor> {
        slot(&mut self.viewers, key)
    }

    /// Sets the handle that wakes the viewer when events are available. Wakes the viewer immediately if
    /// unread events exist.
    pub(super) fn listen(&mut self, key: u64, ready_handle: ReadyHandle) {
        let end = self.end();
        if let Some(slot) = self.slot(key) {
            slot.ready_handle = Some(ready_handle);
            slot.is_rung = false;
            if slot.next < end {
                slot.wake();
            }
        }
    }

    /// Passes about `max` bytes of unread events to `each` and advances the viewer. Wakes the viewer again if
    /// more remain.
    pub(super) fn read(
        &mut self,
        key: u64,
        max: usize,
        mut each: impl FnMut(&Arc<FeedEvent>),
    ) -> Option<MissedEvents> {
        let (first, end) = (self.first, self.end());
        let slot = slot(&mut self.viewers, key)?;
        slot.is_rung = false;
        let missed = if slot.next < first {
            slot.next = first;
            self.items.front().and_then(|oldest| slot.missed(oldest))
        } else {
            // A reconnecting viewer may have missed events evicted before the reconnect.
            let index = usize::try_from(slot.next - first).unwrap_or(usize::MAX);
            let next = self.items.get(index);
            next.filter(|_| slot.last.is_some())
                .and_then(|next| slot.missed(next))
        };
        let index = usize::try_from(slot.next - first).unwrap_or(usize::MAX);
        let mut moved = 0;
        for told in self.items.range(index.min(self.items.len())..) {
            if moved >= max {
                break;
            }
            moved += told.weight;
            each(told);
            slot.next += 1;
            slot.last = Some((told.run.clone(), told.sequence));
        }
        if slot.next < end {
            slot.wake();
        }
        missed
    }
}

/// Returns the cursor of a viewer.
fn slot(viewers: &mut [ViewerCursor], key: u64) -> Option<&mut ViewerCursor> {
    let at = viewers.binary_search_by_key(&key, |slot| slot.key).ok()?;
    Some(&mut viewers[at])
}

impl ViewerCursor {
    fn wake(&mut self) {
        if !self.is_rung
            && let Some(ready_handle) = &self.ready_handle
        {
            self.is_rung = true;
            ready_handle.notify();
        }
    }

    /// Returns the range of events between the last event read and `next`.
    fn missed(&self, next: &FeedEvent) -> Option<MissedEvents> {
        let read = match &self.last {
            Some((run, sequence)) if run.id == next.run.id => *sequence,
            _ => 0,
        };
        (next.sequence > read + 1).then(|| MissedEvents {
            run: next.run.clone(),
            from: read + 1,
            to: next.sequence - 1,
        })
    }
}
