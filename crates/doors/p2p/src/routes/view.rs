//! A peer as administrators see it.

use jackfield_kit::dial::RemoteErrorView;
use jackfield_model::AgentId;
use jackfield_peer::{PeerId, known::PastError, node::ConnectedPeer};
use serde::Serialize;
use utoipa::ToSchema;

use super::PeerRoutes;

/// The peers that are connected, kept or blocked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KnownPeers)]
pub(super) struct PeersView {
    /// The peers, sorted by id.
    pub(super) peers: Vec<PeerView>,
}

/// A peer that is connected, kept or blocked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KnownPeer)]
pub(crate) struct PeerView {
    /// Peer id.
    id: String,
    /// Name on the peer's card.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
    /// Whether the peer is connected.
    pub(crate) state: ConnectionState,
    /// Remote address of the best connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<String>,
    /// Addresses by which the connection is kept, then those at which the peer says to listen.
    addresses: Vec<String>,
    /// Whether all connections go through a relay.
    relayed: bool,
    /// Program that the peer reports to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    program: Option<String>,
    /// Attached agents of the peer.
    #[schema(value_type = Vec<String>)]
    pub(crate) agents: Vec<AgentId>,
    /// Whether the hub keeps a connection with the peer.
    kept: bool,
    /// Whether the hub's configuration file names the peer.
    pub(crate) configured: bool,
    /// Whether the peer may hand off to agents of this hub.
    allowed: bool,
    /// Whether the peer is blocked.
    blocked: bool,
    /// Why the peer cannot be reached, or has no agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<RemoteErrorView>,
}

/// Whether a peer is connected.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = KnownPeerState)]
pub(crate) enum ConnectionState {
    /// Connected.
    Online,
    /// Not connected; a kept peer is dialled again and again.
    Offline,
}

impl PeersView {
    pub(super) fn of(door: &PeerRoutes) -> Self {
        let mut ids: Vec<_> = door.node.connected().iter().map(|it| it.peer).collect();
        ids.extend(door.known.ids());
        ids.sort_by_cached_key(ToString::to_string);
        ids.dedup();
        let peers = ids.into_iter();
        let peers = peers.filter_map(|peer| PeerView::of(door, peer));
        Self {
            peers: peers.collect(),
        }
    }
}

impl PeerView {
    /// Returns the view of a peer, if it is connected, kept or blocked.
    pub(super) fn of(door: &PeerRoutes, peer: PeerId) -> Option<Self> {
        let view = Self::known(door, peer);
        let is_there = matches!(view.state, ConnectionState::Online) || view.kept || view.blocked;
        is_there.then_some(view)
    }

    /// Returns the view of any peer, even an unknown one.
    pub(crate) fn known(door: &PeerRoutes, peer: PeerId) -> Self {
        let id = peer.to_string();
        let connected = door.node.peer(peer);
        let shown = door.peers.shown(peer).unwrap_or_default();
        let known = door.known.get(peer).unwrap_or_default();
        let mut addresses = known.addresses;
        let listens = connected.iter().flat_map(|it| &it.listens);
        for address in listens {
            if !addresses.contains(address) {
                addresses.push(address.clone());
            }
        }
        // Errors of the connection are outdated once it exists.
        let error = match &connected {
            Some(_) => shown.error,
            None => known.error,
        };
        let is_relayed = |it: &ConnectedPeer| it.is_relayed;
        Self {
            name: shown.name,
            state: match connected {
                Some(_) => ConnectionState::Online,
                None => ConnectionState::Offline,
            },
            address: connected.as_ref().map(|it| it.address.to_string()),
            addresses: addresses.iter().map(ToString::to_string).collect(),
            relayed: connected.as_ref().is_some_and(is_relayed),
            program: connected.and_then(|it| it.agent),
            agents: shown.agents,
            kept: known.is_kept,
            configured: known.is_configured,
            allowed: door.peers.may_hand_off(peer),
            blocked: known.is_blocked,
            error: error.map(|PastError { text, at }| RemoteErrorView { message: text, at }),
            id,
        }
    }
}
