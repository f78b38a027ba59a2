//! A peer-to-peer [`Channel`](crate::endpoint::Channel): a WebRTC data channel, as the bridge's agents use it. One peer
//! calls ([`call`]), the other answers ([`answer`]). Session descriptions and candidates are exchanged over
//! an existing [`Signalling`].
//!
//! str0m implements the protocols without sockets. The modules here own the sockets (`sockets`), the setup of
//! the channel (`connect`), and the task that drives the open channel (`drive`). TURN is not supported:
//! without a direct route, connecting fails.

mod candidates;
mod channel;
mod connect;
mod drive;
mod in_flight;
mod peer;
mod queue;
mod sdp;
mod signalling;
mod sockets;
mod stun;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

pub use self::candidates::ice_server_urls;
pub use self::channel::RtcChannel;
pub use self::connect::{answer, call};
pub use self::sdp::{offset_of, with_offset};
pub use self::signalling::{OtherSignal, SignalKind, Signalling};

/// Label of the data channel; part of the wire format.
pub const LABEL: &str = "file-transfer";

/// Options of [`call`] and [`answer`].
#[derive(Debug, Clone)]
pub struct RtcOptions {
    /// URLs of ICE servers. Only `stun:` is used; see [`ice_server_urls`].
    pub ice_servers: Vec<String>,
    /// Offset at which the caller resumes: asks the sender to start at this byte. Ignored for the answering
    /// peer.
    pub offset: Option<u64>,
    /// Local addresses to use. `None` means all interfaces, and loopback only if no other exists.
    pub bind: Option<Vec<IpAddr>>,
    /// Time limit for connecting.
    pub patience: Duration,
}

impl Default for RtcOptions {
    fn default() -> Self {
        Self {
            ice_servers: Vec::new(),
            offset: None,
            bind: None,
            patience: Duration::from_secs(15),
        }
    }
}
