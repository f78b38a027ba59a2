//! What the swarm's task is asked to do.

use libp2p::{Multiaddr, PeerId, StreamProtocol, core::transport::ListenerId};
use tokio::sync::{oneshot, watch};

use super::OpenError;
use crate::streams::Opened;

/// A command; answers go to `reply`, which is dropped when the task has stopped.
#[derive(Debug)]
pub(super) enum Command {
    /// Connect by one of these addresses, if the peer is not connected.
    Dial {
        peer: PeerId,
        addresses: Vec<Multiaddr>,
        /// Whether the addresses are to be tried even if it is; then the connection by them is not kept.
        is_trial: bool,
        reply: oneshot::Sender<Result<(), OpenError>>,
    },
    /// Open a stream to a connected peer.
    Open {
        peer: PeerId,
        protocols: Vec<StreamProtocol>,
        reply: oneshot::Sender<Opened>,
    },
    /// End all connections with a peer.
    Disconnect(PeerId),
    /// Refuse a peer, or no longer.
    Block(PeerId, bool),
    /// Others reach us under this address.
    AddExternal(Multiaddr),
    /// Ask a relay for a place, and tell what becomes of it.
    Reserve {
        relay: PeerId,
        address: Multiaddr,
        place: watch::Sender<Place>,
        reply: oneshot::Sender<Result<ListenerId, String>>,
    },
    /// Give a place back.
    Release(ListenerId),
}

/// What becomes of a place at a relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It was asked for.
    Asked,
    /// It is ours.
    Held,
    /// It was refused or lost; why.
    Lost(String),
}
