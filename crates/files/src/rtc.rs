//! A [`Channel`](crate::Channel) from peer to peer: a WebRTC data channel, as the bridge's agents use it. One party calls, the
//! other answers; their descriptions and addresses go by a [`Signalling`] that the two have already.
//!
//! str0m speaks the protocols and knows no sockets; the files here own the sockets (`sockets`), the way to the open channel
//! (`connect`), and the task that drives it afterwards (`drive`). No TURN: where there is no direct way, there is none.

mod candidates;
mod channel;
mod connect;
mod drive;
mod peer;
mod queue;
mod sdp;
mod signalling;
mod sockets;
mod stun;
#[cfg(test)]
mod tests;
mod under_way;

use std::net::IpAddr;
use std::time::Duration;

pub use self::candidates::ice_server_urls;
pub use self::channel::RtcChannel;
pub use self::connect::{answer, call};
pub use self::sdp::{offset_of, with_offset};
pub use self::signalling::{Kind, OtherSignal, Signalling};

/// The label of the channel that files go over; part of the wire.
pub const LABEL: &str = "file-transfer";

/// How a way to the other side is looked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The addresses of servers for ICE. Only `stun:` is used; see [`ice_server_urls`].
    pub ice_servers: Vec<String>,
    /// Where the caller goes on after a cut: the sender is asked to begin at this byte. An answerer's is not used.
    pub offset: Option<u64>,
    /// The own addresses to use; nothing means those of all interfaces, and loopback only if there is no other.
    pub bind: Option<Vec<IpAddr>>,
    /// How long to look.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ice_servers: Vec::new(),
            offset: None,
            bind: None,
            patience: Duration::from_secs(15),
        }
    }
}
