//! The tail of a run in memory, and how far each viewer has read it. A place in it is a position that never restarts,
//! whichever run an event belongs to.

use std::{collections::VecDeque, sync::Arc};

use jackfield_core::ready::ReadyHandle;

use super::{Run, Spot, Told};
use crate::team::event::{Body, MemberEvent};

/// The tail of a run.
#[derive(Debug, Default)]
pub(super) struct Ring {
    items: VecDeque<Arc<Told>>,
    /// The position of the first item.
    first: u64,
    bytes: usize,
    viewers: Vec<Slot>,
}

/// A viewer.
#[derive(Debug)]
struct Slot {
    key: u64,
    /// The position of what it reads next.
    next: u64,
    /// The last that it has read, to tell what it missed.
    last: Option<(Arc<Run>, u64)>,
    rope: Option<ReadyHandle>,
    /// It was rung and has not read since.
    is_rung: bool,
}

/// Events that a viewer was too slow for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// Of which run.
    pub run: Arc<Run>,
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(super) fn push(&mut self, told: Arc<Told>) {
        self.bytes += told.weight;
        self.items.push_back(told);
        self.ring_all();
    }

    pub(super) fn ring_all(&mut self) {
        for slot in &mut self.viewers {
            slot.ring();
        }
    }

    /// The events of the newest segment of this id at a place, but for its content.
    pub(super) fn segment(&self, spot: &Spot, wanted: &str) -> Vec<Arc<Told>> {
        let mut found = Vec::new();
        for told in self.items.iter().rev() {
            let Body::Member { name, event, .. } = &*told.body else {
                continue;
            };
            let (id, is_first) = match event {
                MemberEvent::SegmentStart { id, .. } => (id, true),
                MemberEvent::SegmentEnd { id, .. } => (id, false),
                _ => continue,
            };
            if **id == *wanted && *name == spot.name && told.path == spot.path {
                found.insert(0, told.clone());
                if is_first {
                    break;
                }
            }
        }
        found
    }

    /// Forgets the oldest: down to `tail` what all viewers have read, and down to `max` whatever it is. Says how many
    /// bytes that was.
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

    /// Adds a viewer that reads what comes after the first item that `is_seen` does not hold for, or only what comes.
    pub(super) fn add(&mut self, key: u64, is_seen: Option<&dyn Fn(&Told) -> bool>) {
        let next = match is_seen {
            None => self.end(),
            Some(is_seen) => {
                let seen = self.items.iter().take_while(|told| is_seen(told)).count();
                self.first + seen as u64
            }
        };
        self.viewers.push(Slot {
            key,
            next,
            last: None,
            rope: None,
            is_rung: false,
        });
    }

    /// What a viewer that had read up to here before it came (back) has missed already.
    pub(super) fn had_read(&mut self, key: u64, run: Arc<Run>, sequence: u64) {
        if let Some(slot) = self.slot(key) {
            slot.last = Some((run, sequence));
        }
    }

    pub(super) fn remove(&mut self, key: u64) {
        self.viewers.retain(|slot| slot.key != key);
    }

    fn slot(&mut self, key: u64) -> Option<&mut Slot> {
        self.viewers.iter_mut().find(|slot| slot.key == key)
    }

    /// Sets who is rung when there is something to read; rings at once if there is already.
    pub(super) fn listen(&mut self, key: u64, rope: ReadyHandle) {
        let end = self.end();
        if let Some(slot) = self.slot(key) {
            slot.rope = Some(rope);
            slot.is_rung = false;
            if slot.next < end {
                slot.ring();
            }
        }
    }

    /// Moves a viewer on by about `max` bytes. If there is more, it is rung again.
    pub(super) fn read(
        &mut self,
        key: u64,
        max: usize,
        mut each: impl FnMut(&Arc<Told>),
    ) -> Option<Missed> {
        let (first, end) = (self.first, self.end());
        let slot = self.viewers.iter_mut().find(|slot| slot.key == key)?;
        slot.is_rung = false;
        let missed = if slot.next < first {
            slot.next = first;
            self.items.front().and_then(|oldest| slot.missed(oldest))
        } else {
            // One that comes back may have missed what was gone before it came.
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
            slot.ring();
        }
        missed
    }
}

impl Slot {
    fn ring(&mut self) {
        if !self.is_rung
            && let Some(rope) = &self.rope
        {
            self.is_rung = true;
            rope.notify();
        }
    }

    /// What lies between the last that was read and this one.
    fn missed(&self, next: &Told) -> Option<Missed> {
        let read = match &self.last {
            Some((run, sequence)) if run.id == next.run.id => *sequence,
            _ => 0,
        };
        (next.sequence > read + 1).then(|| Missed {
            run: next.run.clone(),
            from: read + 1,
            to: next.sequence - 1,
        })
    }
}
