//! File transfers between this program and an agent, in both directions: directly between the peers or
//! through the hub, resumed after a lost connection.

pub(crate) mod answer_files;
mod attempt;
pub(crate) mod client_id;
pub(crate) mod deliver;
mod fetch;
pub(crate) mod progress;
mod signalling;
pub(crate) mod unfinished;
pub(crate) mod upload;

use clap::ValueEnum;

pub(crate) use self::progress::TransferProgress;

/// Route of a file transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RouteChoice {
    /// Use a direct connection, and the hub if none is possible
    #[default]
    Auto,
    /// Use a direct connection only
    Direct,
    /// Use the hub only
    Hub,
}

impl RouteChoice {
    /// Returns the name of the route ([`RouteChoice`]) that is tried first, for messages.
    fn tried(self) -> &'static str {
        match self {
            Self::Auto | Self::Direct => "direct",
            Self::Hub => "hub",
        }
    }
}
