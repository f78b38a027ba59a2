//! Raw streams on named protocols, as a behaviour of the swarm: `Behaviour::open` opens a stream to a
//! connected peer, and `SharedStreams::accept` hands out streams that peers open.
//!
//! No inbound stream is lost: streams that the accepting task has not taken yet wait in their connections.
//! Nothing here dials: the swarm's task connects first and then asks for a stream.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt,
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use libp2p::{
    Multiaddr, PeerId, StreamProtocol,
    core::{ConnectedPoint, Endpoint, transport::PortUse},
    swarm::{
        ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, NotifyHandler, THandler,
        THandlerInEvent, THandlerOutEvent, ToSwarm,
        behaviour::{ConnectionClosed, ConnectionEstablished},
    },
};
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

mod handler;
mod stream;

use self::handler::{Handler, OpenRequest};
pub use self::stream::Stream;
use crate::{
    address::{ip_of, is_relayed},
    limits,
    origin::Origin,
};

/// A stream that a peer opened.
#[derive(Debug)]
pub struct Inbound {
    /// Peer id, proved by the connection.
    pub peer: PeerId,
    /// IP address of the peer; `None` behind a relay.
    pub source: Option<IpAddr>,
    /// Origin of the connection, as far as trust goes.
    pub origin: Origin,
    /// Protocol that the peer chose.
    pub protocol: StreamProtocol,
    /// The stream.
    pub stream: Stream,
}

/// Inbound streams of one protocol. The holder takes them and does no other work in between.
#[derive(Debug)]
pub struct Incoming {
    arrived: mpsc::Receiver<Inbound>,
}

impl Incoming {
    /// Waits for the next stream; `None` once the node has stopped.
    pub async fn next(&mut self) -> Option<Inbound> {
        self.arrived.recv().await
    }
}

/// The protocol already has an acceptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the protocol is accepted already")]
pub struct AlreadyAccepted;

/// Why a stream could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("the peer knows none of the protocols")]
    Unsupported,
    #[error("the peer did not agree on a protocol in time")]
    Slow,
    #[error("the connection was lost")]
    Lost,
}

/// Outcome of a request for a [`Stream`].
pub(crate) type OpenedStream = Result<(Stream, StreamProtocol), StreamError>;

/// State that the connections share with the node: the acceptors, and the kept peers.
#[derive(Debug)]
pub(crate) struct SharedStreams {
    accepted: RwLock<FxHashMap<StreamProtocol, mpsc::Sender<Inbound>>>,
    /// Connected peers, and whether their connections are kept.
    kept: RwLock<FxHashMap<PeerId, bool>>,
    /// Counts the open streams.
    in_use: TaskTracker,
}

impl SharedStreams {
    pub(crate) fn new() -> Self {
        Self {
            accepted: RwLock::default(),
            kept: RwLock::default(),
            in_use: TaskTracker::new(),
        }
    }

    /// Accepts the streams of this protocol until the result is dropped.
    pub(crate) fn accept(&self, protocol: StreamProtocol) -> Result<Incoming, AlreadyAccepted> {
        let mut accepted = self.accepted.write();
        accepted.retain(|_, to| !to.is_closed());
        if accepted.contains_key(&protocol) {
            return Err(AlreadyAccepted);
        }
        let (to, arrived) = mpsc::channel(limits::ARRIVED);
        accepted.insert(protocol, to);
        Ok(Incoming { arrived })
    }

    /// Keeps the connections with a peer while unused, or no longer. Ends with the last connection.
    pub(crate) fn keep(&self, peer: PeerId, is_kept: bool) {
        if let Some(kept) = self.kept.write().get_mut(&peer) {
            *kept = is_kept;
        }
    }

    fn connected(&self, peer: PeerId) {
        self.kept.write().entry(peer).or_default();
    }

    fn disconnected(&self, peer: PeerId) {
        self.kept.write().remove(&peer);
    }

    /// Accepts no more streams, and ends all [`Incoming`].
    pub(crate) fn close(&self) {
        self.accepted.write().clear();
        self.in_use.close();
    }

    /// Resolves after [`SharedStreams::close`] once no stream is open.
    pub(crate) async fn idle(&self) {
        self.in_use.wait().await;
    }

    fn protocols(&self) -> Vec<StreamProtocol> {
        let accepted = self.accepted.read();
        let open = accepted.iter().filter(|(_, to)| !to.is_closed());
        open.map(|(protocol, _)| protocol.clone()).collect()
    }

    fn taker(&self, protocol: &StreamProtocol) -> Option<mpsc::Sender<Inbound>> {
        self.accepted.read().get(protocol).cloned()
    }

    fn is_kept(&self, peer: PeerId) -> bool {
        self.kept.read().get(&peer).copied().unwrap_or_default()
    }
}

/// The behaviour. It has no events: outcomes go to the reply of each request.
pub(crate) struct Behaviour {
    shared: Arc<SharedStreams>,
    connections: FxHashMap<PeerId, Vec<LiveConnection>>,
    requests: VecDeque<(PeerId, ConnectionId, OpenRequest)>,
    waker: Option<Waker>,
}

/// One connection with a peer.
#[derive(Debug, Clone, Copy)]
struct LiveConnection {
    id: ConnectionId,
    is_relayed: bool,
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behaviour")
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl Behaviour {
    pub(crate) fn new(shared: Arc<SharedStreams>) -> Self {
        Self {
            shared,
            connections: FxHashMap::default(),
            requests: VecDeque::new(),
            waker: None,
        }
    }

    /// Opens a stream by the first of the protocols that the peer knows. Direct connections are preferred to
    /// relayed ones, and newer ones to older.
    pub(crate) fn open(
        &mut self,
        peer: PeerId,
        protocols: Vec<StreamProtocol>,
        reply: oneshot::Sender<OpenedStream>,
    ) {
        let connections = self.connections.get(&peer);
        let connection = connections.and_then(|connections| {
            connections
                .iter()
                .rev()
                .min_by_key(|connection| connection.is_relayed)
        });
        // Without a connection the reply is dropped, which reports the failure.
        let Some(connection) = connection else { return };
        self.requests
            .push_back((peer, connection.id, OpenRequest { protocols, reply }));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn handler(&self, peer: PeerId, ends: &ConnectedPoint) -> Handler {
        let source = ip_of(ends.get_remote_address());
        Handler::new(Arc::clone(&self.shared), peer, source, Origin::of(ends))
    }
}

impl NetworkBehaviour for Behaviour {
    type ConnectionHandler = Handler;
    type ToSwarm = Infallible;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        local: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        let ends = ConnectedPoint::Listener {
            local_addr: local.clone(),
            send_back_addr: remote.clone(),
        };
        Ok(self.handler(peer, &ends))
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        remote: &Multiaddr,
        role_override: Endpoint,
        port_use: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        let ends = ConnectedPoint::Dialer {
            address: remote.clone(),
            role_override,
            port_use,
        };
        Ok(self.handler(peer, &ends))
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(ConnectionEstablished {
                peer_id,
                connection_id,
                endpoint,
                ..
            }) => {
                self.connections
                    .entry(peer_id)
                    .or_default()
                    .push(LiveConnection {
                        id: connection_id,
                        is_relayed: endpoint.is_relayed()
                            || is_relayed(endpoint.get_remote_address()),
                    });
                self.shared.connected(peer_id);
            }
            FromSwarm::ConnectionClosed(ConnectionClosed {
                peer_id,
                connection_id,
                ..
            }) => {
                if let Some(connections) = self.connections.get_mut(&peer_id) {
                    connections.retain(|connection| connection.id != connection_id);
                    if connections.is_empty() {
                        self.connections.remove(&peer_id);
                        self.shared.disconnected(peer_id);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_connection_handler_event(
        &mut self,
        _: PeerId,
        _: ConnectionId,
        event: THandlerOutEvent<Self>,
    ) {
        match event {}
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<ToSwarm<Self::ToSwarm, THandlerInEvent<Self>>> {
        match self.requests.pop_front() {
            Some((peer_id, connection, event)) => Poll::Ready(ToSwarm::NotifyHandler {
                peer_id,
                handler: NotifyHandler::One(connection),
                event,
            }),
            None => {
                self.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use libp2p::swarm::ConnectionHandler as _;

    use super::*;

    fn ends() -> ConnectedPoint {
        ConnectedPoint::Listener {
            local_addr: "/ip4/192.0.2.2/tcp/1".parse().unwrap(),
            send_back_addr: "/ip4/192.0.2.1/tcp/1".parse().unwrap(),
        }
    }

    fn came(peer: PeerId, number: usize, ends: &ConnectedPoint) -> FromSwarm<'_> {
        FromSwarm::ConnectionEstablished(ConnectionEstablished {
            peer_id: peer,
            connection_id: ConnectionId::new_unchecked(number),
            endpoint: ends,
            failed_addresses: &[],
            other_established: 0,
        })
    }

    fn went(peer: PeerId, number: usize, ends: &ConnectedPoint) -> FromSwarm<'_> {
        FromSwarm::ConnectionClosed(ConnectionClosed {
            peer_id: peer,
            connection_id: ConnectionId::new_unchecked(number),
            endpoint: ends,
            cause: None,
            remaining_established: 0,
        })
    }

    #[test]
    fn only_the_connections_of_peers_that_are_kept_live_without_use() {
        let mut behaviour = Behaviour::new(Arc::new(SharedStreams::new()));
        let (kept, other) = (PeerId::random(), PeerId::random());
        let ends = ends();
        for peer in [kept, other] {
            behaviour.on_swarm_event(came(peer, 1, &ends));
        }
        let handlers = [kept, other].map(|peer| behaviour.handler(peer, &ends));
        behaviour.shared.keep(kept, true);
        assert_eq!(
            handlers.each_ref().map(Handler::connection_keep_alive),
            [true, false]
        );
        behaviour.shared.keep(kept, false);
        assert!(!handlers[0].connection_keep_alive());
    }

    #[test]
    fn a_peer_is_kept_until_its_last_connection_ends_and_nothing_of_it_stays() {
        let mut behaviour = Behaviour::new(Arc::new(SharedStreams::new()));
        let (peer, ends) = (PeerId::random(), ends());
        behaviour.on_swarm_event(came(peer, 1, &ends));
        behaviour.on_swarm_event(came(peer, 2, &ends));
        behaviour.shared.keep(peer, true);
        behaviour.on_swarm_event(went(peer, 1, &ends));
        assert!(behaviour.shared.is_kept(peer));
        behaviour.on_swarm_event(went(peer, 2, &ends));
        assert!(!behaviour.shared.is_kept(peer));
        // Whoever keeps it now comes too late.
        behaviour.shared.keep(peer, true);
        assert!(behaviour.shared.kept.read().is_empty());
        behaviour.on_swarm_event(came(peer, 3, &ends));
        assert!(!behaviour.shared.is_kept(peer));
    }

    #[test]
    fn a_protocol_is_accepted_by_one_at_a_time() {
        const PROTOCOL: StreamProtocol = StreamProtocol::new("/test/1.0.0");
        let shared = SharedStreams::new();
        let first = shared.accept(PROTOCOL).unwrap();
        assert_eq!(shared.accept(PROTOCOL).unwrap_err(), AlreadyAccepted);
        assert_eq!(shared.protocols(), [PROTOCOL]);
        drop(first);
        assert!(shared.protocols().is_empty());
        shared.accept(PROTOCOL).unwrap();
    }
}
