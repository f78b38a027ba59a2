//! Which peers may hand off work, decided by the proved peer id and the [`Origin`] of the connection. The
//! door, the sidecar and the relay ask; claims of a peer about itself play no part.

use std::collections::HashSet;

use libp2p::PeerId;

use crate::origin::Origin;

/// The peers that may hand off.
#[derive(Debug, Clone)]
pub enum Allowed {
    /// All peers, wherever they are: for an agent that strangers may call.
    Everyone,
    /// Programs of this machine that connected by themselves.
    ThisMachine,
    /// Peers with these ids.
    Only(HashSet<String>),
}

impl Allowed {
    /// Allows the peers with these ids. The error is the first text that is no peer id.
    pub fn only(peers: &[String]) -> Result<Self, &str> {
        let ids = peers.iter().map(|text| {
            let id = text.parse::<PeerId>();
            id.map(|id| id.to_string()).map_err(|_| text.as_str())
        });
        ids.collect::<Result<_, _>>().map(Self::Only)
    }

    /// Allows no peer.
    pub fn nobody() -> Self {
        Self::Only(HashSet::new())
    }

    /// Returns whether `peer` may hand off over a connection of this [`Origin`].
    pub fn includes(&self, peer: &str, origin: Origin) -> bool {
        match self {
            Self::Everyone => true,
            Self::ThisMachine => origin == Origin::ThisMachine,
            Self::Only(peers) => peers.contains(peer),
        }
    }
}
