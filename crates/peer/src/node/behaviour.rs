//! The parts of the swarm: transports, their limits, and the small protocols around ours.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use libp2p::{
    PeerId, Swarm, SwarmBuilder, allow_block_list,
    connection_limits::{self, ConnectionLimits},
    identify,
    identity::Keypair,
    noise, ping, relay,
    swarm::{NetworkBehaviour, behaviour::toggle::Toggle},
    tcp, yamux,
};

use super::{NodeConfig, NodeError, NodeRole, RelayLimits, pong, relay_access::RelayAccess};
use crate::{
    limits,
    streams::{self, SharedStreams},
};

/// Returns the program name that peers see.
fn agent(role: NodeRole) -> &'static str {
    match role {
        // `ConnectedPeer::is_hub` reads it.
        NodeRole::Hub => concat!("jackfield/", env!("CARGO_PKG_VERSION")),
        NodeRole::Sidecar => concat!("jackfield-sidecar/", env!("CARGO_PKG_VERSION")),
    }
}

/// Protocol family of agent nodes, as identify reports it.
const FAMILY: &str = "/ai-agent/1.0.0";

/// All behaviours of the node.
#[derive(NetworkBehaviour)]
pub(super) struct Behaviour {
    limits: connection_limits::Behaviour,
    pub(super) blocked: allow_block_list::Behaviour<allow_block_list::BlockedPeers>,
    identify: identify::Behaviour,
    /// Stands before `ping`, which offers to answer too: the first behaviour that offers a protocol gets the
    /// stream.
    pong: pong::Behaviour,
    ping: ping::Behaviour,
    relay_client: relay::client::Behaviour,
    relay: Toggle<relay::Behaviour>,
    pub(super) streams: streams::Behaviour,
}

pub(super) fn build(
    key: Keypair,
    config: &NodeConfig,
    shared: Arc<SharedStreams>,
    relay_access: Arc<RelayAccess>,
) -> Result<Swarm<Behaviour>, NodeError> {
    let set_up = |what| {
        move |source: Box<dyn std::error::Error + Send + Sync>| NodeError::SetUp { what, source }
    };
    let relay = config.relay_server.clone();
    let swarm = SwarmBuilder::with_existing_identity(key)
        .with_tokio()
        .with_tcp(tcp::Config::default(), noise::Config::new, multiplexer)
        .map_err(|error| set_up("TCP")(error.into()))?
        .with_quic()
        .with_dns()
        .map_err(|error| set_up("name resolution")(error.into()))?
        .with_relay_client(noise::Config::new, multiplexer)
        .map_err(|error| set_up("the relay's client")(error.into()))?
        .with_behaviour(|key, relay_client| {
            let peer = key.public().to_peer_id();
            Behaviour {
                limits: connection_limits::Behaviour::new(connection_limits()),
                blocked: allow_block_list::Behaviour::default(),
                identify: identify::Behaviour::new(
                    identify::Config::new(FAMILY.to_owned(), key.public())
                        .with_agent_version(agent(config.role).to_owned())
                        // We dial only addresses that we were given, not those that a peer reports.
                        .with_cache_size(0),
                ),
                pong: pong::Behaviour::default(),
                ping: ping::Behaviour::new(
                    ping::Config::new()
                        .with_interval(limits::PING_EVERY)
                        .with_timeout(limits::PING_WAIT),
                ),
                relay_client,
                relay: relay
                    .map(|limits| relay::Behaviour::new(peer, relay_config(&limits, relay_access)))
                    .into(),
                streams: streams::Behaviour::new(shared),
            }
        })
        .map_err(|error| set_up("the node")(error.into()))?
        .with_swarm_config(|config| config.with_idle_connection_timeout(limits::IDLE))
        .with_connection_timeout(limits::CONNECT)
        .build();
    Ok(swarm)
}

fn multiplexer() -> yamux::Config {
    let mut config = yamux::Config::default();
    config.set_max_num_streams(limits::STREAMS_PER_CONNECTION);
    config
}

fn connection_limits() -> ConnectionLimits {
    ConnectionLimits::default()
        .with_max_pending_incoming(Some(limits::PENDING_INBOUND))
        .with_max_pending_outgoing(Some(limits::PENDING_OUTBOUND))
        .with_max_established_per_peer(Some(limits::CONNECTIONS_PER_PEER))
        .with_max_established_incoming(Some(limits::INBOUND))
        .with_max_established(Some(limits::CONNECTIONS))
}

fn relay_config(limits: &RelayLimits, relay_access: Arc<RelayAccess>) -> relay::Config {
    let may_reserve = move |peer: PeerId, _: &libp2p::Multiaddr, _: std::time::Instant| {
        relay_access.includes(peer)
    };
    let config = relay::Config {
        max_reservations: limits.reservations,
        // The relay admits one more than its limit, here and below.
        max_reservations_per_peer: limits.reservations_per_peer.saturating_sub(1),
        max_circuits: limits.circuits,
        max_circuits_per_peer: limits.circuits_per_peer.saturating_sub(1),
        max_circuit_duration: Duration::from_secs(limits.circuit_seconds.into()),
        max_circuit_bytes: limits.circuit_bytes,
        // Stands first, so that strangers use up no quota.
        reservation_rate_limiters: vec![Box::new(may_reserve)],
        circuit_src_rate_limiters: Vec::new(),
        ..relay::Config::default()
    };
    // A reconnecting peer reserves again each time; a caller may need a circuit for every call.
    config
        .reservation_rate_per_peer(RESERVATIONS, Duration::from_secs(60))
        .reservation_rate_per_ip(RESERVATIONS_PER_ADDRESS, Duration::from_secs(10))
        .circuit_src_per_peer(CIRCUITS, Duration::from_secs(2))
        .circuit_src_per_ip(CIRCUITS_PER_ADDRESS, Duration::from_secs(1))
}

const RESERVATIONS: NonZeroU32 = NonZeroU32::new(30).expect("30 is not 0");
const RESERVATIONS_PER_ADDRESS: NonZeroU32 = NonZeroU32::new(120).expect("120 is not 0");
const CIRCUITS: NonZeroU32 = NonZeroU32::new(60).expect("60 is not 0");
const CIRCUITS_PER_ADDRESS: NonZeroU32 = NonZeroU32::new(240).expect("240 is not 0");
