//! File transfers between this program and an agent, in both directions: directly between the peers or
//! through the hub, resumed after a lost connection.

pub(crate) mod client_id;
pub(crate) mod deliver;
mod fetch;
pub(crate) mod handed;
mod line;
pub(crate) mod tell;
mod trouble;
pub(crate) mod unfinished;
pub(crate) mod upload;

use clap::ValueEnum;

pub(crate) use self::tell::Tell;

/// Route of a file transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Via {
    /// Use a direct connection, and the hub if none is possible
    #[default]
    Auto,
    /// Use a direct connection only
    Direct,
    /// Use the hub only
    Hub,
}

impl Via {
    /// Returns the name of the route ([`Via`]) that is tried first, for messages.
    fn tried(self) -> &'static str {
        match self {
            Self::Auto | Self::Direct => "direct",
            Self::Hub => "hub",
        }
    }
}
