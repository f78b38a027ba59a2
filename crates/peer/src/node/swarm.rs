//! The task that owns the swarm. It waits for swarm events and commands only.

use std::{io, sync::Arc};

use futures_util::StreamExt as _;
use libp2p::{
    Multiaddr, PeerId, Swarm,
    core::transport::ListenerId,
    identify,
    multiaddr::Protocol,
    ping, relay,
    swarm::{
        ConnectionError, ConnectionId, SwarmEvent,
        dial_opts::{DialOpts, PeerCondition},
    },
};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    NodeConfig, NodeError, StreamOpenError,
    behaviour::{Behaviour, BehaviourEvent},
    command::{Command, RelayPlace},
    connections::Connections,
    pong::Pinged,
    relay_access::RelayAccess,
    unreached::{self, one_line},
};
use crate::{
    address::{ip_of, is_relayed},
    limits,
    streams::SharedStreams,
};

pub(super) struct SwarmTask {
    swarm: Swarm<Behaviour>,
    queue: mpsc::Receiver<Command>,
    shared: Arc<SharedStreams>,
    connections: Arc<Connections>,
    relay_access: Arc<RelayAccess>,
    /// Connected peers for which the log already has a refused relay reservation.
    refused: FxHashSet<PeerId>,
    dials: FxHashMap<ConnectionId, Dial>,
    /// Connections that are being closed for lack of a sign of life, with the reason.
    given_up: FxHashMap<ConnectionId, String>,
    /// Listeners of the configuration.
    listeners: Vec<ListenerId>,
    /// Listeners at relays.
    places: FxHashMap<ListenerId, HeldReservation>,
    /// Whether the relay announces its listen addresses, because the configuration names no external ones.
    is_relay_by_listening: bool,
}

/// A connection attempt.
struct Dial {
    peer: PeerId,
    addresses: Vec<Multiaddr>,
    /// Whether only a connection by these addresses counts.
    is_trial: bool,
    replies: Vec<oneshot::Sender<Result<(), StreamOpenError>>>,
}

/// A reservation at a relay.
struct HeldReservation {
    relay: PeerId,
    place: watch::Sender<RelayPlace>,
}

impl SwarmTask {
    pub(super) fn new(
        swarm: Swarm<Behaviour>,
        queue: mpsc::Receiver<Command>,
        shared: Arc<SharedStreams>,
        connections: Arc<Connections>,
        relay_access: Arc<RelayAccess>,
    ) -> Self {
        Self {
            swarm,
            queue,
            shared,
            connections,
            relay_access,
            refused: FxHashSet::default(),
            dials: FxHashMap::default(),
            given_up: FxHashMap::default(),
            listeners: Vec::new(),
            places: FxHashMap::default(),
            is_relay_by_listening: false,
        }
    }

    /// Listens on all addresses of the configuration; returns when the listeners are ready.
    pub(super) async fn listen(&mut self, config: NodeConfig) -> Result<(), NodeError> {
        self.is_relay_by_listening = config.relay_server.is_some() && config.external.is_empty();
        for address in config.external {
            self.swarm.add_external_address(address);
        }
        let mut waiting = FxHashMap::default();
        for address in config.listen {
            let free = refuse_taken(&address).map_err(|error| error.to_string());
            let listening = free.and_then(|()| {
                let listening = self.swarm.listen_on(address.clone());
                listening.map_err(|error| error.to_string())
            });
            match listening {
                Ok(id) => {
                    self.listeners.push(id);
                    waiting.insert(id, address);
                }
                Err(why) => return Err(NodeError::Listen { address, why }),
            }
        }
        let until = Instant::now() + limits::LISTEN;
        while let Some(address) = waiting.values().next().cloned() {
            let fail = |why: String| NodeError::Listen { address, why };
            let event = timeout_at(until, self.swarm.select_next_some())
                .await
                .map_err(|_| fail("the system did not answer".to_owned()))?;
            match &event {
                SwarmEvent::NewListenAddr { listener_id, .. } => {
                    waiting.remove(listener_id);
                }
                SwarmEvent::ListenerClosed {
                    listener_id,
                    reason: Err(error),
                    ..
                }
                | SwarmEvent::ListenerError { listener_id, error } => {
                    if let Some(address) = waiting.remove(listener_id) {
                        let why = error.to_string();
                        return Err(NodeError::Listen { address, why });
                    }
                }
                _ => {}
            }
            self.on_event(event);
        }
        self.show_addresses();
        Ok(())
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                event = self.swarm.select_next_some() => self.on_event(event),
                command = self.queue.recv() => match command {
                    Some(command) => self.on_command(command),
                    None => break,
                },
            }
        }
        self.stop().await;
    }

    /// Stops accepting, waits until all streams are closed, and closes all connections. The caller limits the
    /// time.
    async fn stop(mut self) {
        self.shared.close();
        // Queued commands are answered by dropping them.
        self.queue.close();
        while self.queue.try_recv().is_ok() {}
        self.dials.clear();
        let places = self.places.drain().map(|(id, _)| id);
        for listener in self.listeners.drain(..).chain(places) {
            self.swarm.remove_listener(listener);
        }
        let shared = Arc::clone(&self.shared);
        let idle = shared.idle();
        tokio::pin!(idle);
        loop {
            tokio::select! {
                () = &mut idle => break,
                event = self.swarm.select_next_some() => self.on_event(event),
            }
        }
        let connected: Vec<PeerId> = self.swarm.connected_peers().copied().collect();
        for peer in connected {
            // The peer may have disconnected meanwhile.
            self.swarm.disconnect_peer_id(peer).ok();
        }
        let closed = timeout(limits::GOODBYE, async {
            while !self.connections.is_empty() {
                let event = self.swarm.select_next_some().await;
                self.on_event(event);
            }
        });
        if closed.await.is_err() {
            tracing::debug!("some peers did not say goodbye in time");
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Dial {
                peer,
                addresses,
                is_trial,
                reply,
            } => self.dial(peer, addresses, is_trial, reply),
            Command::Open {
                peer,
                protocols,
                reply,
            } => {
                let streams = &mut self.swarm.behaviour_mut().streams;
                streams.open(peer, protocols, reply);
            }
            Command::Disconnect(peer) => {
                // A peer that is not connected needs no disconnect.
                self.swarm.disconnect_peer_id(peer).ok();
            }
            Command::Block(peer, true) => {
                self.swarm.behaviour_mut().blocked.block_peer(peer);
            }
            Command::Block(peer, false) => {
                self.swarm.behaviour_mut().blocked.unblock_peer(peer);
            }
            Command::AddExternal(address) => {
                self.swarm.add_external_address(address);
                self.show_addresses();
            }
            Command::Reserve {
                relay,
                address,
                place,
                reply,
            } => {
                let listening = self.swarm.listen_on(address.with(Protocol::P2pCircuit));
                let asked = listening.map_err(|error| error.to_string());
                if let Ok(id) = &asked {
                    self.places.insert(*id, HeldReservation { relay, place });
                }
                if let Err(Ok(id)) = reply.send(asked) {
                    self.release(id);
                }
            }
            Command::Release(id) => self.release(id),
        }
    }

    fn dial(
        &mut self,
        peer: PeerId,
        addresses: Vec<Multiaddr>,
        is_trial: bool,
        reply: oneshot::Sender<Result<(), StreamOpenError>>,
    ) {
        if self.swarm.is_connected(&peer) && !is_trial {
            drop(reply.send(Ok(())));
            return;
        }
        if addresses.is_empty() {
            drop(reply.send(Err(StreamOpenError::NoAddress)));
            return;
        }
        let mut dials = self.dials.values_mut();
        let same = dials.find(|dial| {
            dial.peer == peer && dial.addresses == addresses && dial.is_trial == is_trial
        });
        if let Some(dial) = same {
            dial.replies.push(reply);
            return;
        }
        let options = DialOpts::peer_id(peer)
            .addresses(addresses.clone())
            .condition(PeerCondition::Always)
            .build();
        let id = options.connection_id();
        match self.swarm.dial(options) {
            Ok(()) => {
                let replies = vec![reply];
                self.dials.insert(
                    id,
                    Dial {
                        peer,
                        addresses,
                        is_trial,
                        replies,
                    },
                );
            }
            Err(error) => {
                drop(reply.send(Err(unreached::open_error(&error))));
            }
        }
    }

    fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::Behaviour(event) => self.on_behaviour_event(event),
            SwarmEvent::ConnectionEstablished {
                peer_id,
                connection_id,
                endpoint,
                num_established,
                ..
            } => {
                let is_over = |id: &ConnectionId, dial: &mut Dial| {
                    dial.peer == peer_id && (!dial.is_trial || *id == connection_id)
                };
                let dials: Vec<_> = self.dials.extract_if(is_over).collect();
                let was_trial = dials.iter().any(|(_, dial)| dial.is_trial);
                if was_trial && num_established.get() > 1 {
                    // The peer was connected before and stays so. The connection is never counted, since a peer is
                    // trusted as its least trusted connection is.
                    self.swarm.close_connection(connection_id);
                } else {
                    self.connections
                        .connection_made(peer_id, connection_id, &endpoint);
                }
                for reply in dials.into_iter().flat_map(|(_, dial)| dial.replies) {
                    // The caller may have gone.
                    drop(reply.send(Ok(())));
                }
            }
            SwarmEvent::ConnectionClosed {
                peer_id,
                connection_id,
                num_established,
                cause,
                ..
            } => {
                let given_up = self.given_up.remove(&connection_id);
                let why = given_up.or_else(|| cause.map(|error| told(&error)));
                self.connections
                    .connection_ended(peer_id, connection_id, why);
                if num_established == 0 {
                    self.refused.remove(&peer_id);
                    self.lose_places("the connection with the relay ended", |held| {
                        held.relay == peer_id
                    });
                }
            }
            SwarmEvent::OutgoingConnectionError {
                connection_id,
                error,
                ..
            } => {
                if let Some(dial) = self.dials.remove(&connection_id) {
                    for reply in dial.replies {
                        drop(reply.send(Err(unreached::open_error(&error))));
                    }
                }
            }
            SwarmEvent::NewListenAddr { address, .. } => {
                if self.is_relay_by_listening && !is_relayed(&address) {
                    self.swarm.add_external_address(address);
                }
                self.show_addresses();
            }
            SwarmEvent::ExpiredListenAddr { address, .. } => {
                if self.is_relay_by_listening {
                    self.swarm.remove_external_address(&address);
                }
                self.show_addresses();
            }
            SwarmEvent::ListenerClosed {
                listener_id,
                reason,
                ..
            } => {
                let why = reason.err().map(|error| unreached::no_place(&error));
                let why = why.as_deref().unwrap_or("the relay gave no place");
                self.lose_place(listener_id, why);
                self.show_addresses();
            }
            SwarmEvent::ListenerError { listener_id, error } => {
                self.lose_place(listener_id, &unreached::no_place(&error));
            }
            SwarmEvent::ExternalAddrConfirmed { .. } => self.show_addresses(),
            SwarmEvent::ExternalAddrExpired { address } => {
                let mut parts = address.iter();
                let relay = parts.find_map(|part| match part {
                    Protocol::P2p(peer) => Some(peer),
                    _ => None,
                });
                if is_relayed(&address) {
                    let why = "the relay's address is no longer valid";
                    self.lose_places(why, |held| {
                        Some(held.relay) == relay && *held.place.borrow() == RelayPlace::Held
                    });
                }
                self.show_addresses();
            }
            _ => {}
        }
    }

    fn on_behaviour_event(&mut self, event: BehaviourEvent) {
        match event {
            BehaviourEvent::Ping(ping::Event {
                peer,
                connection,
                result,
            }) => match result {
                Ok(_) => self.connections.peer_alive(peer),
                // Alive, but does not support ping.
                Err(ping::Failure::Unsupported) => {}
                Err(error) => {
                    tracing::debug!(%peer, %error, "a peer gives no sign of life");
                    let why = format!("it gives no sign of life: {error}");
                    self.given_up.insert(connection, why);
                    self.swarm.close_connection(connection);
                }
            },
            // A peer that pings us is alive.
            BehaviourEvent::Pong(Pinged(peer)) => self.connections.peer_alive(peer),
            BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                self.connections.peer_identified(
                    peer_id,
                    &info.agent_version,
                    info.protocols,
                    info.listen_addrs,
                );
            }
            BehaviourEvent::RelayClient(relay::client::Event::ReservationReqAccepted {
                relay_peer_id,
                ..
            }) => {
                for held in self.places.values() {
                    if held.relay == relay_peer_id {
                        held.place.send_replace(RelayPlace::Held);
                    }
                }
            }
            BehaviourEvent::Relay(relay::Event::ReservationReqDenied { src_peer_id, .. }) => {
                self.place_refused(src_peer_id);
            }
            BehaviourEvent::Relay(event) => tracing::debug!(?event, "relay"),
            _ => {}
        }
    }

    /// Logs why a reservation was refused. The peer only learns that the relay has no room, because the
    /// library has no other answer.
    fn place_refused(&mut self, peer: PeerId) {
        let why = if self.relay_access.includes(peer) {
            "there are too many places or requests"
        } else {
            "it is neither allowed here nor registered"
        };
        // Repeated requests of one peer are logged once.
        if self.refused.insert(peer) {
            tracing::info!(%peer, why, "no place at the relay was given");
        }
    }

    fn lose_place(&mut self, id: ListenerId, why: &str) {
        if let Some(held) = self.places.remove(&id) {
            held.place.send_replace(RelayPlace::Lost(why.to_owned()));
            self.swarm.remove_listener(id);
        }
    }

    fn lose_places(&mut self, why: &str, is_lost: impl Fn(&HeldReservation) -> bool) {
        let lost = self.places.iter().filter(|(_, held)| is_lost(held));
        for id in lost.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.lose_place(id, why);
        }
    }

    fn release(&mut self, id: ListenerId) {
        self.places.remove(&id);
        self.swarm.remove_listener(id);
    }

    fn show_addresses(&self) {
        let all = self
            .swarm
            .listeners()
            .chain(self.swarm.external_addresses());
        self.connections.set_addresses(all.cloned());
    }
}

/// Describes why a connection ended that was not closed here.
fn told(error: &ConnectionError) -> String {
    match error {
        ConnectionError::KeepAliveTimeout => "nothing used the connection".to_owned(),
        ConnectionError::IO(error) => {
            format!("the connection ended: {}", one_line(&error.to_string()))
        }
    }
}

/// Refuses a TCP port that is in use. The swarm opens ports in a way that lets two programs of one user share
/// a port, and connections would reach either at random. Binding once without that option fails if the port
/// is taken.
fn refuse_taken(address: &Multiaddr) -> io::Result<()> {
    let mut parts = address.iter();
    match (ip_of(address), parts.nth(1)) {
        (Some(ip), Some(Protocol::Tcp(port))) if port != 0 => {
            std::net::TcpListener::bind((ip, port)).map(drop)
        }
        _ => Ok(()),
    }
}
