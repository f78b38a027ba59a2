//! What a folder has that is not in its archive, by the reason, with the first names.

use std::{collections::BTreeMap, fmt};

use crate::names::Names;

/// Why something is not packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// What tools make, histories and secrets.
    Never,
    /// A name that the other side must refuse.
    Name,
    /// It cannot be read.
    Unreadable,
    /// A link.
    Link,
    /// A pipe, a socket or a device.
    Special,
    /// A folder with nothing in it.
    Empty,
}

impl Why {
    fn told(self) -> &'static str {
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

/// What is not packed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Omitted(BTreeMap<Why, Names>);

impl Omitted {
    pub(crate) fn add(&mut self, why: Why, name: impl FnOnce() -> String) {
        self.0.entry(why).or_default().add(name);
    }

    /// Whether everything is packed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are for this reason.
    pub fn count(&self, why: Why) -> usize {
        self.0.get(&why).map_or(0, Names::count)
    }
}

impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (why, names)) in self.0.iter().enumerate() {
            let mark = if at == 0 { "" } else { "; " };
            write!(f, "{mark}{}: {names}", why.told())?;
        }
        Ok(())
    }
}
