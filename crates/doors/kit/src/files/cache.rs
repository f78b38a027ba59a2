//! [`FileCache`]: the cache of linked files. Linking a file again makes it the newest. If a new file does not fit, the oldest files of the owner that holds most are evicted; a single owner may use all of the cache.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::ServedFile;
use jackfield_model::Owner;

/// The cached files, by id.
#[derive(Debug)]
pub(super) struct FileCache {
    room: usize,
    used: usize,
    files: HashMap<Arc<str>, Placed>,
    /// Ids, oldest first.
    order: BTreeMap<u64, Arc<str>>,
    /// Files of each owner; the hub itself is no owner. Owners without files are not in it.
    owners: HashMap<Option<Owner>, Owned>,
    next: u64,
}

#[derive(Debug, Default)]
struct Owned {
    used: usize,
    /// Ids, oldest first.
    order: BTreeMap<u64, Arc<str>>,
}

#[derive(Debug)]
struct Placed {
    held: ServedFile,
    /// Time at which the last link expires.
    expires: i64,
    place: u64,
    owner: Option<Owner>,
}

impl FileCache {
    /// Creates an empty cache for so many bytes.
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

    /// Adds a file of an owner, evicting others if needed. Returns false if the file is larger than the
    /// cache.
    pub(super) fn put(
        &mut self,
        id: Arc<str>,
        held: ServedFile,
        expires: i64,
        owner: Option<Owner>,
    ) -> bool {
        let weight = held.weight();
        if weight > self.room {
            return false;
        }
        // Other links to the file may expire later, if the clock was set back.
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

    /// Returns the oldest file of the owner that holds most once `owner` holds `more`.
    fn surplus(&self, owner: Option<&Owner>, more: usize) -> Option<Arc<str>> {
        let with_more = |whose: &Option<Owner>, owned: &Owned| {
            let is_it = whose.as_ref() == owner;
            (owned.used + if is_it { more } else { 0 }, is_it)
        };
        let owners = self.owners.iter();
        let (_, owned) = owners.max_by_key(|(whose, owned)| with_more(whose, owned))?;
        owned.order.values().next().cloned()
    }

    pub(super) fn get(&self, id: &str) -> Option<ServedFile> {
        self.files.get(id).map(|placed| placed.held.clone())
    }

    /// Drops files whose last link has expired.
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
