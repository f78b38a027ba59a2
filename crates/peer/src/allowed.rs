//! Which peers may hand off work, decided by their proved peer id and by where their connection comes from. The door, the
//! sidecar and the relay ask; nothing here is read from what a peer says about itself.

use std::collections::HashSet;

use libp2p::PeerId;

use crate::origin::Origin;

/// Which peers may hand off.
#[derive(Debug, Clone)]
pub enum Allowed {
    /// All, wherever they are: for an agent that is there to be called by strangers.
    Everyone,
    /// Whoever connects by itself from this machine.
    ThisMachine,
    /// Those with these ids.
    Only(HashSet<String>),
}

impl Allowed {
    /// Those with these ids; the one that is none, if there is one.
    pub fn only(peers: &[String]) -> Result<Self, &str> {
        let ids = peers.iter().map(|text| {
            let id = text.parse::<PeerId>();
            id.map(|id| id.to_string()).map_err(|_| text.as_str())
        });
        ids.collect::<Result<_, _>>().map(Self::Only)
    }

    /// No peer.
    pub fn nobody() -> Self {
        Self::Only(HashSet::new())
    }

    /// Whether this peer may, by a connection that comes from there.
    pub fn includes(&self, peer: &str, origin: Origin) -> bool {
        match self {
            Self::Everyone => true,
            Self::ThisMachine => origin == Origin::ThisMachine,
            Self::Only(peers) => peers.contains(peer),
        }
    }
}
