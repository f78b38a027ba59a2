//! The door put together: a node, what it serves, the registry, and the peers that are agents of the hub.

use std::sync::Arc;

use axum::Router;
use jackfield_core::{hub::Hub, id::AgentId};
use jackfield_kit::{auth::Gatekeeper, tasks::Tasks};
use jackfield_wire::p2p::{PROTOCOL_CARD, PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM};
use libp2p::{Multiaddr, StreamProtocol, identity::Keypair};
use utoipa::openapi::OpenApi;

use crate::{
    node::{Node, NodeConfig, NodeError},
    peers::Peers,
    permits::Permits,
    registry::{self, Registry, RegistryDoor, RegistryRules, Sought, Station},
    serve::{Endpoint, Reception, Terms, Way, serve_cards, serve_handoffs},
};

pub(crate) const CARD: StreamProtocol = StreamProtocol::new(PROTOCOL_CARD);
pub(crate) const HANDOFF: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF);
pub(crate) const HANDOFF_STREAM: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF_STREAM);

/// What the door is made of.
#[derive(Debug)]
pub struct Setting {
    /// The hub.
    pub hub: Hub,
    /// Who decides who is calling over HTTP.
    pub gatekeeper: Gatekeeper,
    /// Where its tasks run, and what tells them that the hub stops.
    pub tasks: Tasks,
    /// The hub's key among peers.
    pub key: Keypair,
    /// How the node is set up.
    pub node: NodeConfig,
    /// On what terms handoffs are taken.
    pub terms: Terms,
    /// What is registered.
    pub rules: RegistryRules,
    /// Agents behind HTTP that peers reach.
    pub endpoints: Vec<(AgentId, Endpoint)>,
    /// Peers that the hub keeps a connection with.
    pub peers: Vec<Multiaddr>,
}

/// The door while it is open. Cheap to clone.
#[derive(Debug, Clone)]
pub struct P2p {
    node: Node,
    registry: RegistryDoor,
}

impl P2p {
    /// Opens the door: it listens when this returns.
    pub async fn open(setting: Setting) -> Result<Self, NodeError> {
        let Setting { hub, tasks, .. } = setting;
        let is_relay = setting.node.relay_server.is_some();
        let node = Node::start(setting.node, setting.key, &tasks).await?;
        let reception = Reception::new(hub.clone(), setting.terms, setting.endpoints);
        let permits = Permits::new();
        let registry = Registry::new(setting.rules);
        for (protocol, way) in [(HANDOFF, Way::Plain), (HANDOFF_STREAM, Way::Framed)] {
            if let Ok(incoming) = node.accept(protocol) {
                let (reception, permits) = (reception.clone(), permits.clone());
                tasks.spawn(serve_handoffs(
                    incoming,
                    way,
                    reception,
                    permits,
                    tasks.clone(),
                ));
            }
        }
        if let Ok(incoming) = node.accept(CARD) {
            let (reception, permits) = (reception.clone(), permits);
            tasks.spawn(serve_cards(incoming, reception, permits, tasks.clone()));
        }
        let peers = Peers::new(
            hub,
            node.clone(),
            registry.clone(),
            reception.clone(),
            tasks.clone(),
            is_relay,
        );
        tasks.spawn(peers.run(setting.peers));
        tasks.spawn(keep_registry(
            registry.clone(),
            is_relay.then(|| node.clone()),
            tasks.clone(),
        ));
        let station = Station {
            peer_id: node.peer_id().to_string(),
            addresses: {
                let node = node.clone();
                Arc::new(move || node.addresses().iter().map(ToString::to_string).collect())
            },
        };
        let registry = RegistryDoor {
            registry,
            reception,
            gatekeeper: setting.gatekeeper,
            station,
        };
        Ok(Self { node, registry })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The registry's routes and their description.
    pub fn router(&self) -> (Router, OpenApi) {
        registry::router(self.registry.clone())
    }
}

/// Forgets peers whose time is over, and lets those that are registered hold a place at the hub's relay.
async fn keep_registry(registry: Registry, relay: Option<Node>, tasks: Tasks) {
    let mut changes = registry.watch();
    let mut ticks = tokio::time::interval(std::time::Duration::from_secs(1));
    let mut guests = Vec::new();
    loop {
        tokio::select! {
            () = tasks.stop_token().cancelled() => return,
            _ = ticks.tick() => registry.expire(),
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                if let Some(node) = &relay {
                    let now = registry.find(&Sought::default());
                    let now: Vec<_> = now.iter().map(|found| found.peer).collect();
                    for peer in &guests {
                        node.allow_relay(*peer, now.contains(peer));
                    }
                    for peer in &now {
                        node.allow_relay(*peer, true);
                    }
                    guests = now;
                }
            }
        }
    }
}
