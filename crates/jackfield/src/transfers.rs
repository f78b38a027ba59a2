//! Archives between this program and an agent, both ways: from peer to peer, or through the hub, gone on with after a cut.

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

/// Which way archives go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Via {
    /// From peer to peer, and through the hub if there is no direct way
    #[default]
    Auto,
    /// From peer to peer only
    Direct,
    /// Through the hub only
    Hub,
}

impl Via {
    /// What is tried, as it is told.
    fn tried(self) -> &'static str {
        match self {
            Self::Auto | Self::Direct => "direct",
            Self::Hub => "hub",
        }
    }
}
