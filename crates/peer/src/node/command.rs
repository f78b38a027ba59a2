//! Commands to the swarm's task. The handle of the node sends them.

use libp2p::{Multiaddr, PeerId, StreamProtocol, core::transport::ListenerId};
use tokio::sync::{oneshot, watch};

use super::StreamOpenError;
use crate::streams::OpenedStream;

/// A command. Its outcome goes to `reply`, which is dropped when the task has stopped.
#[derive(Debug)]
pub(super) enum Command {
    /// Connect by one of these addresses, unless the peer is connected.
    Dial {
        peer: PeerId,
        addresses: Vec<Multiaddr>,
        /// Whether to try the addresses even if the peer is connected. The resulting connection is then not
        /// kept.
        is_trial: bool,
        reply: oneshot::Sender<Result<(), StreamOpenError>>,
    },
    /// Open a stream to a connected peer.
    Open {
        peer: PeerId,
        protocols: Vec<StreamProtocol>,
        reply: oneshot::Sender<OpenedStream>,
    },
    /// Close all connections with a peer.
    Disconnect(PeerId),
    /// Block a peer, or unblock it.
    Block(PeerId, bool),
    /// Add an address under which others reach the node.
    AddExternal(Multiaddr),
    /// Ask a relay for a reservation, and report its state to `place`.
    Reserve {
        relay: PeerId,
        address: Multiaddr,
        place: watch::Sender<RelayPlace>,
        reply: oneshot::Sender<Result<ListenerId, String>>,
    },
    /// Give a reservation back.
    Release(ListenerId),
}

/// State of a reservation at a relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RelayPlace {
    /// Asked for, not answered yet.
    Asked,
    /// Granted.
    Held,
    /// Refused or lost, for this reason.
    Lost(String),
}
