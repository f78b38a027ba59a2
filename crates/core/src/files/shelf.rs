//! The files themselves, as many as fit. A file that is linked again counts as new; the oldest go first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::Held;

/// The files that are kept, by their ids.
#[derive(Debug)]
pub(super) struct Shelf {
    room: usize,
    used: usize,
    files: HashMap<Arc<str>, Placed>,
    /// The oldest first.
    order: BTreeMap<u64, Arc<str>>,
    next: u64,
}

#[derive(Debug)]
struct Placed {
    held: Held,
    /// When its last link ends.
    expires: i64,
    place: u64,
}

impl Shelf {
    /// An empty one; all files together may weigh so much.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            used: 0,
            files: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
        }
    }

    /// Keeps a file, in place of the oldest if need be. False if it is too large for any shelf of this size.
    pub(super) fn put(&mut self, id: Arc<str>, held: Held, expires: i64) -> bool {
        let weight = held.weight();
        if weight > self.room {
            return false;
        }
        // Its other links may end later, if the clock was set back.
        let before = self.take(&id).map_or(expires, |placed| placed.expires);
        while self.used + weight > self.room
            && let Some((_, oldest)) = self.order.first_key_value()
        {
            let oldest = oldest.clone();
            self.take(&oldest);
        }
        let place = self.next;
        self.next += 1;
        self.used += weight;
        self.order.insert(place, id.clone());
        let placed = Placed {
            held,
            expires: expires.max(before),
            place,
        };
        self.files.insert(id, placed);
        true
    }

    pub(super) fn get(&self, id: &str) -> Option<Held> {
        self.files.get(id).map(|placed| placed.held.clone())
    }

    /// Drops the files whose last link has ended.
    pub(super) fn expire(&mut self, now: i64) {
        while let Some((_, oldest)) = self.order.first_key_value()
            && self
                .files
                .get(oldest)
                .is_none_or(|placed| placed.expires <= now)
        {
            let oldest = oldest.clone();
            self.take(&oldest);
        }
    }

    fn take(&mut self, id: &str) -> Option<Placed> {
        let placed = self.files.remove(id)?;
        self.order.remove(&placed.place);
        self.used -= placed.held.weight();
        Some(placed)
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }
}
