//! Names as they are told: the first few of them, and how many more there are.

use std::fmt;

/// How many names are told.
pub(crate) const NAMED: usize = 5;

/// The first names of some files, and how many files there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    first: Vec<String>,
    count: usize,
}

impl Names {
    /// One more; `name` is asked only while there is room to tell it.
    pub(crate) fn add(&mut self, name: impl FnOnce() -> String) {
        if self.first.len() < NAMED {
            self.first.push(name());
        }
        self.count += 1;
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list(&self.first, self.count - self.first.len()))
    }
}

/// Names as a sentence has them.
pub(crate) fn list(names: &[String], more: usize) -> String {
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
