//! The libp2p node. It connects to peers, opens and accepts streams, reports who is connected, and may hold
//! reservations at relays or be a relay. It knows no application protocol.
//!
//! One task owns the swarm (`node/swarm.rs`) and takes commands; all other code holds the handle [`Node`].

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use jackfield_kit::tasks::Tasks;
use libp2p::{Multiaddr, PeerId, StreamProtocol, identity::Keypair, multiaddr::Protocol};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::{
    sync::{Semaphore, broadcast, mpsc, oneshot, watch},
    time::{sleep, timeout},
};

mod behaviour;
mod command;
mod connections;
mod pong;
mod relay_access;
mod reservation;
mod swarm;
#[cfg(test)]
mod tests;
mod unreached;

use self::{
    command::Command, connections::Connections, relay_access::RelayAccess, swarm::SwarmTask,
};
pub use self::{
    connections::{ConnectedPeer, PeerEvent},
    reservation::{Reservation, ReservationState},
};
use crate::{
    address::{ip_of, is_relayed, peer_of, sort},
    allowed::Allowed,
    limits,
    streams::{AlreadyAccepted, Incoming, OpenedStream, SharedStreams, Stream, StreamError},
};

/// Configuration of a node.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Addresses to listen on; port 0 takes any free port.
    pub listen: Vec<Multiaddr>,
    /// Addresses under which others reach the node, where the node cannot find them out.
    pub external: Vec<Multiaddr>,
    /// Limits of the node as a relay for unreachable peers; `None` if it is no relay.
    pub relay_server: Option<RelayLimits>,
    /// Reported [`NodeRole`].
    pub role: NodeRole,
    /// How long a peer that answers in plain text and does not close its stream may be silent before its
    /// answer counts as complete; see [`limits::WORDS_SILENCE`].
    pub words_silence: Duration,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            external: Vec::new(),
            relay_server: None,
            role: NodeRole::default(),
            words_silence: limits::WORDS_SILENCE,
        }
    }
}

/// Role that a node reports to peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeRole {
    /// A hub, which other hubs ask for its agents.
    #[default]
    Hub,
    /// One agent.
    Sidecar,
}

/// Limits of a relay.
#[derive(Debug, Clone)]
pub struct RelayLimits {
    /// Peers that may reserve a place besides those of [`Node::allow_relay`]: a peer that asks right after
    /// connecting has had no time to register.
    pub allowed: Allowed,
    /// Most reservations of peers that wait to be called.
    pub reservations: usize,
    /// Most reservations of one peer.
    pub reservations_per_peer: usize,
    /// Most relayed connections at a time.
    pub circuits: usize,
    /// Most relayed connections of one caller.
    pub circuits_per_peer: usize,
    /// Longest relayed connection in seconds: enough for a long answer.
    pub circuit_seconds: u32,
    /// Most bytes of one relayed connection: two of the largest results.
    pub circuit_bytes: u64,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            allowed: Allowed::nobody(),
            reservations: 128,
            reservations_per_peer: 2,
            circuits: 64,
            circuits_per_peer: 4,
            circuit_seconds: 600,
            circuit_bytes: 16 * 1024 * 1024,
        }
    }
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A transport could not be set up.
    #[error("cannot set up {what}")]
    SetUp {
        /// Name of the transport.
        what: &'static str,
        /// Cause of the failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The node could not listen on an address.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: Multiaddr,
        /// Cause of the failure.
        why: String,
    },
}

/// Why no stream to a peer was opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamOpenError {
    /// The peer is not connected and no address of it is known, or an address names no peer.
    #[error("there is no address of this peer")]
    NoAddress,
    /// No address led to the peer.
    #[error("cannot connect {0}")]
    Unreachable(String),
    /// The connection was accepted and closed before the handshake.
    #[error("cannot connect {0}")]
    TurnedAway(String),
    /// Connecting or opening the stream took too long.
    #[error("the peer did not answer in time")]
    TooSlow,
    /// The peer knows none of the protocols.
    #[error("the peer knows none of the protocols")]
    Unsupported,
    /// The connection broke twice in a row before the stream was open.
    #[error("the connection was lost")]
    Lost,
    /// Too many streams to this peer are open.
    #[error("too many streams to this peer")]
    TooMany,
    /// The node has stopped.
    #[error("the node has stopped")]
    Stopped,
}

/// A handle of the node. Clones are the same node. The node stops when all handles are gone or its tasks are
/// told to stop.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    peer_id: PeerId,
    commands: mpsc::Sender<Command>,
    shared: Arc<SharedStreams>,
    connections: Arc<Connections>,
    relay_access: Arc<RelayAccess>,
    places: Mutex<FxHashMap<PeerId, Arc<Semaphore>>>,
    tasks: Tasks,
    words_silence: Duration,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.0.peer_id).finish()
    }
}

impl Node {
    /// Starts a node, which listens when this returns. Its task is one of `tasks`: told to stop, the node
    /// takes no more streams, waits for open ones, and closes its connections.
    pub async fn start(config: NodeConfig, key: Keypair, tasks: &Tasks) -> Result<Self, NodeError> {
        let shared = Arc::new(SharedStreams::new());
        let words_silence = config.words_silence;
        let relay = config.relay_server.as_ref();
        let allowed = relay.map_or_else(Allowed::nobody, |relay| relay.allowed.clone());
        let peer_id = key.public().to_peer_id();
        let connections = Arc::new(Connections::new(peer_id));
        let relay_access = Arc::new(RelayAccess::new(allowed, Arc::clone(&connections)));
        let swarm = behaviour::build(key, &config, Arc::clone(&shared), Arc::clone(&relay_access))?;
        let (commands, queue) = mpsc::channel(limits::COMMANDS);
        let mut task = SwarmTask::new(
            swarm,
            queue,
            Arc::clone(&shared),
            Arc::clone(&connections),
            Arc::clone(&relay_access),
        );
        task.listen(config).await?;
        tasks.spawn(task.run(tasks.stop_token().clone()));
        Ok(Self(Arc::new(Inner {
            peer_id,
            commands,
            shared,
            connections,
            relay_access,
            places: Mutex::default(),
            tasks: tasks.clone(),
            words_silence,
        })))
    }

    /// Returns [`NodeConfig::words_silence`].
    pub(crate) fn words_silence(&self) -> Duration {
        self.0.words_silence
    }

    /// Returns the node's own peer id.
    pub fn peer_id(&self) -> PeerId {
        self.0.peer_id
    }

    /// Returns the addresses under which others reach the node: each with `/p2p/ID` at its end, TCP before
    /// QUIC, relayed ones last.
    pub fn addresses(&self) -> Vec<Multiaddr> {
        self.0.connections.addresses()
    }

    /// Watches the node's addresses.
    pub fn watch_addresses(&self) -> watch::Receiver<Vec<Multiaddr>> {
        self.0.connections.watch_addresses()
    }

    /// Returns all [`ConnectedPeer`]s.
    pub fn connected(&self) -> Vec<ConnectedPeer> {
        self.0.connections.connected()
    }

    /// Returns one peer, if connected.
    pub fn peer(&self, peer: PeerId) -> Option<ConnectedPeer> {
        self.0.connections.peer(peer)
    }

    /// Subscribes to [`PeerEvent`]s from now on. A reader that lags reads [`Node::connected`] again.
    pub fn watch(&self) -> broadcast::Receiver<PeerEvent> {
        self.0.connections.watch()
    }

    /// Opens a [`Stream`] by the first of the protocols that the peer knows; connects first if necessary. A
    /// connection that breaks before the stream is open is made anew once, because no data was sent on it.
    pub async fn open(
        &self,
        peer: PeerId,
        addresses: &[Multiaddr],
        protocols: &[StreamProtocol],
    ) -> Result<(Stream, StreamProtocol), StreamOpenError> {
        let place = self
            .places(peer)
            .try_acquire_owned()
            .map_err(|_| StreamOpenError::TooMany)?;
        let mut is_second = false;
        loop {
            self.reach(peer, addresses).await?;
            match self.open_here(peer, protocols).await {
                Err(StreamOpenError::Lost) if !is_second => is_second = true,
                opened => {
                    return opened.map(|(stream, protocol)| (stream.in_place(place), protocol));
                }
            }
        }
    }

    /// Connects to the peer at the end of this address, and keeps the connection even while unused.
    pub async fn connect(&self, address: Multiaddr) -> Result<PeerId, StreamOpenError> {
        let peer = peer_of(&address).ok_or(StreamOpenError::NoAddress)?;
        self.connect_any(peer, &[address]).await?;
        Ok(peer)
    }

    /// Connects by the best of several addresses, and keeps the connection even while unused.
    pub async fn connect_any(
        &self,
        peer: PeerId,
        addresses: &[Multiaddr],
    ) -> Result<(), StreamOpenError> {
        self.reach(peer, addresses).await?;
        self.keep(peer);
        Ok(())
    }

    /// Connects by exactly this address, even to a connected peer, and keeps the connection.
    pub async fn connect_by(&self, address: Multiaddr) -> Result<PeerId, StreamOpenError> {
        let peer = peer_of(&address).ok_or(StreamOpenError::NoAddress)?;
        let tried = timeout(limits::CONNECT, self.dial_way(peer, vec![address], true)).await;
        tried.map_err(|_| StreamOpenError::TooSlow)??;
        self.keep(peer);
        Ok(peer)
    }

    /// Keeps all connections with a peer although unused, until the last of them ends.
    pub fn keep(&self, peer: PeerId) {
        self.0.shared.keep(peer, true);
    }

    /// Closes the connections with a peer, and no longer keeps new ones.
    pub fn disconnect(&self, peer: PeerId) {
        self.0.shared.keep(peer, false);
        self.tell(Command::Disconnect(peer));
    }

    /// Blocks a peer and closes its connections, or unblocks the peer.
    pub fn block(&self, peer: PeerId, is_blocked: bool) {
        self.tell(Command::Block(peer, is_blocked));
    }

    /// Adds an external address of the node.
    pub fn add_external_address(&self, address: Multiaddr) {
        self.tell(Command::AddExternal(address));
    }

    /// Allows a peer to reserve a place at our relay, or no longer. A reservation that the peer holds ends
    /// when it is due for renewal.
    pub fn allow_relay(&self, peer: PeerId, is_allowed: bool) {
        self.0.relay_access.register(peer, is_allowed);
    }

    /// Accepts streams that peers open by this protocol.
    pub fn accept(&self, protocol: StreamProtocol) -> Result<Incoming, AlreadyAccepted> {
        self.0.shared.accept(protocol)
    }

    /// Holds a [`Reservation`] at a relay as long as the result lives, and asks again when the reservation is
    /// lost. `relay` is an address that ends in the relay's `/p2p/ID`.
    pub fn reserve(&self, relay: Multiaddr) -> Result<Reservation, StreamOpenError> {
        let peer = peer_of(&relay).ok_or(StreamOpenError::NoAddress)?;
        if is_relayed(&relay) {
            return Err(StreamOpenError::NoAddress);
        }
        Ok(reservation::hold(self.clone(), peer, relay))
    }

    async fn reach(&self, peer: PeerId, addresses: &[Multiaddr]) -> Result<(), StreamOpenError> {
        timeout(limits::CONNECT, self.dial(peer, addresses))
            .await
            .map_err(|_| StreamOpenError::TooSlow)?
    }

    /// Dials the best addresses first; the others join when these fail or take long.
    async fn dial(&self, peer: PeerId, addresses: &[Multiaddr]) -> Result<(), StreamOpenError> {
        let mut ways = ways_to(addresses).into_iter();
        // Without an address, the swarm still knows whether the peer is connected.
        let first = ways.next().unwrap_or_default();
        let mut dials = FuturesUnordered::new();
        dials.push(self.dial_patiently(peer, first));
        loop {
            tokio::select! {
                dialled = dials.next() => match dialled {
                    Some(Ok(())) => return Ok(()),
                    Some(Err(error)) => match ways.next() {
                        Some(way) => dials.push(self.dial_patiently(peer, way)),
                        None if dials.is_empty() => return Err(error),
                        None => {}
                    },
                    None => return Err(StreamOpenError::NoAddress),
                },
                () = sleep(limits::HEAD_START), if ways.len() > 0 => {
                    dials.extend(ways.next().map(|way| self.dial_patiently(peer, way)));
                }
            }
        }
    }

    /// Dials, and dials once more after a moment if turned away: some peers accept only so many connections a
    /// second and close the next one at once.
    async fn dial_patiently(
        &self,
        peer: PeerId,
        addresses: Vec<Multiaddr>,
    ) -> Result<(), StreamOpenError> {
        match self.dial_way(peer, addresses.clone(), false).await {
            Err(StreamOpenError::TurnedAway(_)) => {
                sleep(limits::TURNED_AWAY).await;
                self.dial_way(peer, addresses, false).await
            }
            dialled => dialled,
        }
    }

    async fn dial_way(
        &self,
        peer: PeerId,
        addresses: Vec<Multiaddr>,
        is_trial: bool,
    ) -> Result<(), StreamOpenError> {
        let (reply, dialled) = oneshot::channel();
        self.send(Command::Dial {
            peer,
            addresses,
            is_trial,
            reply,
        })
        .await?;
        dialled.await.map_err(|_| StreamOpenError::Stopped)?
    }

    async fn open_here(
        &self,
        peer: PeerId,
        protocols: &[StreamProtocol],
    ) -> Result<(Stream, StreamProtocol), StreamOpenError> {
        let (reply, opened) = oneshot::channel::<OpenedStream>();
        self.send(Command::Open {
            peer,
            protocols: protocols.to_vec(),
            reply,
        })
        .await?;
        match timeout(limits::OPEN, opened).await {
            Ok(Ok(Ok(opened))) => Ok(opened),
            Ok(Ok(Err(StreamError::Unsupported))) => Err(StreamOpenError::Unsupported),
            Ok(Ok(Err(StreamError::Slow))) | Err(_) => Err(StreamOpenError::TooSlow),
            // A dropped reply means that the connection ended.
            Ok(Ok(Err(StreamError::Lost)) | Err(_)) => Err(StreamOpenError::Lost),
        }
    }

    fn places(&self, peer: PeerId) -> Arc<Semaphore> {
        let mut places = self.0.places.lock();
        // Semaphores without a holder are removed, so there are as many as peers with open streams.
        places.retain(|_, free| Arc::strong_count(free) > 1);
        let fresh = || Arc::new(Semaphore::new(limits::STREAMS_TO_PEER));
        Arc::clone(places.entry(peer).or_insert_with(fresh))
    }

    async fn send(&self, command: Command) -> Result<(), StreamOpenError> {
        let sent = self.0.commands.send(command).await;
        sent.map_err(|_| StreamOpenError::Stopped)
    }

    /// Sends a command without waiting for its outcome.
    fn tell(&self, command: Command) {
        if let Err(mpsc::error::TrySendError::Full(command)) = self.0.commands.try_send(command) {
            let commands = self.0.commands.clone();
            self.0
                .tasks
                .spawn(async move { commands.send(command).await });
        }
    }
}

/// Groups addresses by the order of attempts: direct TCP, direct QUIC, relays. Addresses of this machine come
/// first, because a caller there counts as one of its programs.
fn ways_to(addresses: &[Multiaddr]) -> Vec<Vec<Multiaddr>> {
    let mut addresses = addresses.to_vec();
    sort(&mut addresses);
    let kind = |address: &Multiaddr| {
        let is_quic = address.iter().any(|part| matches!(part, Protocol::QuicV1));
        let is_here = ip_of(address).is_some_and(|ip| ip.is_loopback());
        (
            is_relayed(address),
            is_quic && !is_relayed(address),
            !is_here,
        )
    };
    addresses.sort_by_key(kind);
    addresses
        .chunk_by(|a, b| kind(a) == kind(b))
        .map(<[Multiaddr]>::to_vec)
        .collect()
}
