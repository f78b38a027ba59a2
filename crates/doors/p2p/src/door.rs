//! The door put together: a node, what it serves, the registry, and the peers that are agents of the hub.

use std::{collections::HashSet, sync::Arc};

use axum::Router;
use jackfield_core::{
    hub::Hub,
    id::AgentId,
    store::{Store, StoreError},
};
use jackfield_kit::{auth::Gatekeeper, tasks::Tasks};
use jackfield_wire::p2p::{PROTOCOL_CARD, PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM};
use libp2p::{Multiaddr, StreamProtocol, identity::Keypair};
use utoipa::openapi::OpenApi;

use crate::{
    contacts::{self, Contacts, ContactsDoor},
    node::{Node, NodeConfig, NodeError},
    peers::Peers,
    registry::{self, Registry, RegistryDoor, RegistryRules, Station},
    serve::{Endpoint, Reception, Terms, serve_peers},
};

/// The protocol of cards.
pub const CARD: StreamProtocol = StreamProtocol::new(PROTOCOL_CARD);
/// The protocol of handoffs.
pub const HANDOFF: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF);
/// The same, answered in frames.
pub const HANDOFF_STREAM: StreamProtocol = StreamProtocol::new(PROTOCOL_HANDOFF_STREAM);

/// What the door is made of.
#[derive(Debug)]
pub struct Setting {
    /// The hub.
    pub hub: Hub,
    /// Where it is written down which peers are kept and which are refused.
    pub store: Arc<dyn Store>,
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
    /// Peers that the hub keeps a connection with, besides those that it is told of later.
    pub peers: Vec<Multiaddr>,
}

/// Why the door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The node did not start.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The door while it is open. Cheap to clone.
#[derive(Debug, Clone)]
pub struct P2p {
    node: Node,
    registry: RegistryDoor,
    contacts: ContactsDoor,
}

impl P2p {
    /// Opens the door: it listens when this returns.
    pub async fn open(mut setting: Setting) -> Result<Self, StartError> {
        let is_relay = setting.node.relay_server.is_some();
        if let Some(relay) = &mut setting.node.relay_server {
            relay.allowed = setting.terms.allowed.clone();
        }
        let Setting { hub, tasks, .. } = setting;
        let node = Node::start(setting.node, setting.key, &tasks).await?;
        for (_, endpoint) in &setting.endpoints {
            let stop = tasks.stop_token().clone();
            tasks.spawn(stop.run_until_cancelled_owned(endpoint.clone().keep()));
        }
        let reception = Reception::new(hub.clone(), setting.terms, setting.endpoints);
        let registry = Registry::new(setting.rules);
        serve_peers(&node, &reception, &tasks);
        let store = setting.store;
        let contacts = Contacts::open(
            node.clone(),
            registry.clone(),
            store,
            tasks.clone(),
            setting.peers,
        )
        .await?;
        let peers = Peers::new(
            hub,
            node.clone(),
            registry.clone(),
            reception.clone(),
            contacts.clone(),
            tasks.clone(),
            is_relay,
        );
        tasks.spawn(peers.clone().run());
        let contacts = ContactsDoor {
            contacts,
            peers,
            reception: reception.clone(),
            gatekeeper: setting.gatekeeper.clone(),
        };
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
        Ok(Self {
            node,
            registry,
            contacts,
        })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The routes of the registry and those for the hub's peers, and their description.
    pub fn router(&self) -> (Router, OpenApi) {
        let (registry, mut api) = registry::router(self.registry.clone());
        let (contacts, contacts_api) = contacts::router(self.contacts.clone());
        api.merge(contacts_api);
        (registry.merge(contacts), api)
    }
}

/// Forgets peers whose time is over, and lets those that are registered hold a place at the hub's relay.
async fn keep_registry(registry: Registry, relay: Option<Node>, tasks: Tasks) {
    let mut changes = registry.watch();
    let mut ticks = tokio::time::interval(std::time::Duration::from_secs(1));
    let mut guests = HashSet::new();
    loop {
        tokio::select! {
            () = tasks.stop_token().cancelled() => return,
            _ = ticks.tick() => registry.expire(),
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                if let Some(node) = &relay {
                    let now = registry.ids();
                    for gone in guests.difference(&now) {
                        node.allow_relay(*gone, false);
                    }
                    for new in now.difference(&guests) {
                        node.allow_relay(*new, true);
                    }
                    guests = now;
                }
            }
        }
    }
}
