//! Lists of names for messages: the first few names and the count of the rest.

use std::fmt;

/// Most names that [`NameList`] stores.
pub(crate) const NAMED: usize = 5;

/// The first names of some files, and the number of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameList {
    first: Vec<String>,
    count: usize,
}

impl NameList {
    /// Adds a name. Calls `name` only while the list has room.
    pub(crate) fn add(&mut self, name: impl FnOnce() -> String) {
        if self.first.len() < NAMED {
            self.first.push(name());
        }
        self.count += 1;
    }

    /// Returns the number of names added.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether no name was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for NameList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list(&self.first, self.count - self.first.len()))
    }
}

/// Formats names for a sentence.
pub(crate) fn list(names: &[String], more: usize) -> String {
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
