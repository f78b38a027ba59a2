//! The files themselves, as many as fit. A file that is linked again counts as new. If one more does not fit, the oldest
//! of the owner that holds most go first; an owner alone may use all of it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::Held;
use jackfield_model::Owner;

/// The files that are kept, by their ids.
#[derive(Debug)]
pub(super) struct Shelf {
    room: usize,
    used: usize,
    files: HashMap<Arc<str>, Placed>,
    /// The oldest first.
    order: BTreeMap<u64, Arc<str>>,
    /// What each owner has; the hub itself is none. Those who have nothing are not in it.
    owners: HashMap<Option<Owner>, Owned>,
    next: u64,
}

#[derive(Debug, Default)]
struct Owned {
    used: usize,
    /// The oldest first.
    order: BTreeMap<u64, Arc<str>>,
}

#[derive(Debug)]
struct Placed {
    held: Held,
    /// When its last link ends.
    expires: i64,
    place: u64,
    owner: Option<Owner>,
}

impl Shelf {
    /// An empty one; all files together may weigh so much.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            used: 0,
            files: HashMap::new(),
            order: BTreeMap::new(),
            owners: HashMap::new(),
            next: 0,
        }
    }

    /// Keeps a file of an owner's, in place of others if need be. False if it is too large for any shelf of this size.
    pub(super) fn put(
        &mut self,
        id: Arc<str>,
        held: Held,
        expires: i64,
        owner: Option<Owner>,
    ) -> bool {
        let weight = held.weight();
        if weight > self.room {
            return false;
        }
        // Its other links may end later, if the clock was set back.
        let before = self.take(&id).map_or(expires, |placed| placed.expires);
        while self.used + weight > self.room
            && let Some(oldest) = self.surplus(owner.as_ref(), weight)
        {
            self.take(&oldest);
        }
        let place = self.next;
        self.next += 1;
        self.used += weight;
        self.order.insert(place, id.clone());
        let owned = self.owners.entry(owner.clone()).or_default();
        owned.used += weight;
        owned.order.insert(place, id.clone());
        let placed = Placed {
            held,
            expires: expires.max(before),
            place,
            owner,
        };
        self.files.insert(id, placed);
        true
    }

    /// The oldest file of the owner that holds most once `owner` holds `more`.
    fn surplus(&self, owner: Option<&Owner>, more: usize) -> Option<Arc<str>> {
        let with_more = |whose: &Option<Owner>, owned: &Owned| {
            let is_it = whose.as_ref() == owner;
            (owned.used + if is_it { more } else { 0 }, is_it)
        };
        let owners = self.owners.iter();
        let (_, owned) = owners.max_by_key(|(whose, owned)| with_more(whose, owned))?;
        owned.order.values().next().cloned()
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
        let weight = placed.held.weight();
        self.order.remove(&placed.place);
        self.used -= weight;
        if let Some(owned) = self.owners.get_mut(&placed.owner) {
            owned.order.remove(&placed.place);
            owned.used -= weight;
            if owned.order.is_empty() {
                self.owners.remove(&placed.owner);
            }
        }
        Some(placed)
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }
}
