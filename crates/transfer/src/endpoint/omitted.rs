//! Entries of a folder that are not in its archive: counts by reason, with the first names.

use std::{collections::BTreeMap, fmt};

use crate::endpoint::names::NameList;

/// Why an entry is not packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmitReason {
    /// Build output, version control data or a secret.
    Never,
    /// A name that the peer must refuse.
    Name,
    /// Not readable.
    Unreadable,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
    /// An empty folder.
    Empty,
}

impl OmitReason {
    fn label(self) -> &'static str {
        match self {
            Self::Never => "never sent",
            Self::Name => "names that cannot be sent",
            Self::Unreadable => "cannot be read",
            Self::Link => "links",
            Self::Special => "pipes, sockets or devices",
            Self::Empty => "empty folders",
        }
    }
}

/// Entries that are not packed, by [`OmitReason`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OmittedEntries(BTreeMap<OmitReason, NameList>);

impl OmittedEntries {
    pub(crate) fn add(&mut self, why: OmitReason, name: impl FnOnce() -> String) {
        self.0.entry(why).or_default().add(name);
    }

    /// Returns whether all entries are packed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of entries omitted for this reason.
    pub fn count(&self, why: OmitReason) -> usize {
        self.0.get(&why).map_or(0, NameList::count)
    }
}

impl fmt::Display for OmittedEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (why, names)) in self.0.iter().enumerate() {
            let mark = if at == 0 { "" } else { "; " };
            write!(f, "{mark}{}: {names}", why.label())?;
        }
        Ok(())
    }
}
