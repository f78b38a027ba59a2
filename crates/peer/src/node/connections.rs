//! Connected peers and own addresses, as the swarm's task knows them. The task writes, every handle of the
//! node reads.

use libp2p::{Multiaddr, PeerId, StreamProtocol, core::ConnectedPoint, swarm::ConnectionId};
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use tokio::{
    sync::{broadcast, watch},
    time::Instant,
};

use crate::{
    address::{is_relayed, sort, with_peer},
    limits,
    origin::Origin,
};

/// A connected peer.
#[derive(Debug, Clone)]
pub struct ConnectedPeer {
    /// Peer id, proved by the connection.
    pub peer: PeerId,
    /// Remote address of the best connection.
    pub address: Multiaddr,
    /// Whether all connections go through a relay.
    pub is_relayed: bool,
    /// Origin of the least trusted connection.
    pub origin: Origin,
    /// Program name that the peer reports; `None` until it has.
    pub agent: Option<String>,
    /// Protocols that the peer reports.
    pub protocols: Vec<StreamProtocol>,
    /// Addresses at which the peer says to listen, with its id at the end. Untested.
    pub listens: Vec<Multiaddr>,
    /// Time of the last sign of life.
    pub seen: Instant,
}

impl ConnectedPeer {
    /// Returns whether the peer reports to be a hub of this kind; `None` until it has reported what it is.
    pub fn is_hub(&self) -> Option<bool> {
        let program = self.agent.as_deref()?;
        Some(program.starts_with("jackfield/"))
    }
}

/// A change of a peer's connections.
#[derive(Debug, Clone)]
pub enum PeerEvent {
    /// A peer connected that was not connected.
    Connected {
        /// The peer.
        peer: PeerId,
        /// Remote address of the connection.
        address: Multiaddr,
        /// Whether the connection goes through a relay.
        is_relayed: bool,
    },
    /// A connected peer reported its protocols.
    Identified {
        /// The peer.
        peer: PeerId,
        /// The protocols.
        protocols: Vec<StreamProtocol>,
    },
    /// The last connection with a peer ended.
    Disconnected {
        /// The peer.
        peer: PeerId,
        /// Cause, as far as known; `None` if the connection was closed here.
        why: Option<String>,
    },
}

#[derive(Debug)]
pub(super) struct Connections {
    own: PeerId,
    state: RwLock<State>,
    addresses: watch::Sender<Vec<Multiaddr>>,
    news: broadcast::Sender<PeerEvent>,
}

#[derive(Debug, Default)]
struct State {
    peers: FxHashMap<PeerId, ConnectedEntry>,
}

#[derive(Debug)]
struct ConnectedEntry {
    /// Direct connections first, the newest first among equals.
    lines: Vec<PeerConnection>,
    agent: Option<String>,
    protocols: Vec<StreamProtocol>,
    listens: Vec<Multiaddr>,
    seen: Instant,
}

#[derive(Debug)]
struct PeerConnection {
    id: ConnectionId,
    address: Multiaddr,
    is_relayed: bool,
    origin: Origin,
}

/// Longest stored program name in bytes. People see it.
const MAX_AGENT: usize = 128;
/// Most stored listen addresses: a machine has a few, each by some transports.
const MAX_LISTENS: usize = 16;

impl Connections {
    pub(super) fn new(own: PeerId) -> Self {
        Self {
            own,
            state: RwLock::default(),
            addresses: watch::Sender::default(),
            news: broadcast::Sender::new(limits::NEWS),
        }
    }

    pub(super) fn addresses(&self) -> Vec<Multiaddr> {
        self.addresses.borrow().clone()
    }

    pub(super) fn watch_addresses(&self) -> watch::Receiver<Vec<Multiaddr>> {
        self.addresses.subscribe()
    }

    pub(super) fn connected(&self) -> Vec<ConnectedPeer> {
        let state = self.state.read();
        let peers = state.peers.iter();
        peers
            .filter_map(|(peer, entry)| entry.show(*peer))
            .collect()
    }

    pub(super) fn peer(&self, peer: PeerId) -> Option<ConnectedPeer> {
        self.state.read().peers.get(&peer)?.show(peer)
    }

    pub(super) fn watch(&self) -> broadcast::Receiver<PeerEvent> {
        self.news.subscribe()
    }

    pub(super) fn set_addresses(&self, addresses: impl Iterator<Item = Multiaddr>) {
        let mut addresses = addresses
            .map(|address| with_peer(address, self.own))
            .collect();
        sort(&mut addresses);
        self.addresses.send_if_modified(|had| {
            let is_new = *had != addresses;
            *had = addresses;
            is_new
        });
    }

    pub(super) fn connection_made(&self, peer: PeerId, id: ConnectionId, end: &ConnectedPoint) {
        let connection = PeerConnection {
            id,
            address: end.get_remote_address().clone(),
            is_relayed: end.is_relayed() || is_relayed(end.get_remote_address()),
            origin: Origin::of(end),
        };
        let event = PeerEvent::Connected {
            peer,
            address: connection.address.clone(),
            is_relayed: connection.is_relayed,
        };
        let mut state = self.state.write();
        let entry = state.peers.entry(peer).or_insert_with(|| ConnectedEntry {
            lines: Vec::new(),
            agent: None,
            protocols: Vec::new(),
            listens: Vec::new(),
            seen: Instant::now(),
        });
        let is_first = entry.lines.is_empty();
        entry.lines.insert(0, connection);
        entry.lines.sort_by_key(|connection| connection.is_relayed);
        entry.seen = Instant::now();
        drop(state);
        if is_first {
            self.tell(event);
        }
    }

    pub(super) fn connection_ended(&self, peer: PeerId, id: ConnectionId, why: Option<String>) {
        let mut state = self.state.write();
        let Some(entry) = state.peers.get_mut(&peer) else {
            return;
        };
        entry.lines.retain(|connection| connection.id != id);
        if entry.lines.is_empty() {
            state.peers.remove(&peer);
            drop(state);
            self.tell(PeerEvent::Disconnected { peer, why });
        }
    }

    pub(super) fn peer_alive(&self, peer: PeerId) {
        if let Some(entry) = self.state.write().peers.get_mut(&peer) {
            entry.seen = Instant::now();
        }
    }

    pub(super) fn peer_identified(
        &self,
        peer: PeerId,
        agent: &str,
        protocols: Vec<StreamProtocol>,
        listens: Vec<Multiaddr>,
    ) {
        let mut state = self.state.write();
        let Some(entry) = state.peers.get_mut(&peer) else {
            return;
        };
        entry.agent = Some(agent[..agent.floor_char_boundary(MAX_AGENT)].to_owned());
        entry.protocols.clone_from(&protocols);
        let listens = listens.into_iter().take(MAX_LISTENS);
        entry.listens = listens.map(|it| with_peer(it, peer)).collect();
        sort(&mut entry.listens);
        entry.seen = Instant::now();
        drop(state);
        self.tell(PeerEvent::Identified { peer, protocols });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.read().peers.is_empty()
    }

    fn tell(&self, event: PeerEvent) {
        // Without a subscriber the event is dropped.
        drop(self.news.send(event));
    }
}

impl ConnectedEntry {
    fn show(&self, peer: PeerId) -> Option<ConnectedPeer> {
        let best = self.lines.first()?;
        let origins = self.lines.iter().map(|connection| connection.origin);
        Some(ConnectedPeer {
            peer,
            address: best.address.clone(),
            is_relayed: best.is_relayed,
            origin: origins.min()?,
            agent: self.agent.clone(),
            protocols: self.protocols.clone(),
            listens: self.listens.clone(),
            seen: self.seen,
        })
    }
}

#[cfg(test)]
mod tests {
    use libp2p::core::{Endpoint, transport::PortUse};

    use super::*;

    #[test]
    fn a_peer_is_trusted_as_much_as_the_least_of_its_connections() {
        let peer = PeerId::random();
        let connections = Connections::new(PeerId::random());
        let here: Multiaddr = "/ip4/127.0.0.1/tcp/1".parse().unwrap();
        let (came, dialled) = (
            ConnectionId::new_unchecked(1),
            ConnectionId::new_unchecked(2),
        );
        let origin = || connections.peer(peer).map(|it| it.origin);
        assert_eq!(origin(), None);
        let ends = ConnectedPoint::Listener {
            local_addr: here.clone(),
            send_back_addr: here.clone(),
        };
        connections.connection_made(peer, came, &ends);
        assert_eq!(origin(), Some(Origin::ThisMachine));
        let ends = ConnectedPoint::Dialer {
            address: here,
            role_override: Endpoint::Dialer,
            port_use: PortUse::Reuse,
        };
        connections.connection_made(peer, dialled, &ends);
        assert_eq!(origin(), Some(Origin::Elsewhere));
        connections.connection_ended(peer, dialled, None);
        assert_eq!(origin(), Some(Origin::ThisMachine));
    }
}
