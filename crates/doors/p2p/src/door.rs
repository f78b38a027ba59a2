//! The door put together: the node, its host, the registry, and the peers that are agents of the hub.
//! [`Config`](crate::Config) opens it.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use axum::Router;
use jackfield_core::{
    hub::Hub,
    store::{Store, StoreError},
};
use jackfield_kit::{auth::Gatekeeper, dial::Dialler, files::Files, tasks::Tasks};
use jackfield_model::AgentId;
use jackfield_peer::{
    Multiaddr,
    keys::Keypair,
    known::KnownPeers,
    node::{Node, NodeConfig, NodeError},
    serve::serve_peers,
};
use jackfield_registry::{self as registry, HubPeer, Registry, RegistryRules, RegistryService};
use jackfield_sidecar::Endpoint;
use utoipa::openapi::OpenApi;

use crate::{
    peers::PeerTracker,
    routes::{self, PeerRoutes},
    saved::StoredPeers,
    serve::{HandoffTerms, HubHost},
};

/// Parts of the door, ready to open.
#[derive(Debug)]
pub(crate) struct P2pSetting {
    /// The hub.
    pub(crate) hub: Hub,
    /// Files under links, since the protocol knows only links.
    pub(crate) files: Arc<Files>,
    /// Store of the known peers.
    pub(crate) store: Arc<dyn Store>,
    /// Authenticates callers over HTTP.
    pub(crate) gatekeeper: Gatekeeper,
    /// Set of tasks that the door runs in, stopped with the hub.
    pub(crate) tasks: Tasks,
    /// Key of the hub among peers.
    pub(crate) key: Keypair,
    /// Configuration of the node.
    pub(crate) node: NodeConfig,
    /// Terms of handoffs.
    pub(crate) terms: HandoffTerms,
    /// Rules of the registry.
    pub(crate) rules: RegistryRules,
    /// Agents behind HTTP that peers reach.
    pub(crate) endpoints: Vec<(AgentId, Endpoint)>,
    /// Peers of the configuration to keep a connection with.
    pub(crate) peers: Vec<Multiaddr>,
}

/// Why the door could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum P2pStartError {
    /// The node did not start.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The open door. Cheap to clone.
#[derive(Debug, Clone)]
pub struct P2p {
    node: Node,
    registry: RegistryService,
    routes: PeerRoutes,
}

impl P2p {
    /// Opens the door. Its [`Node`] listens when the future resolves.
    pub(crate) async fn open(mut setting: P2pSetting) -> Result<Self, P2pStartError> {
        let is_relay = setting.node.relay_server.is_some();
        if let Some(relay) = &mut setting.node.relay_server {
            relay.allowed = setting.terms.allowed.clone();
        }
        let P2pSetting { hub, tasks, .. } = setting;
        let node = Node::start(setting.node, setting.key, &tasks).await?;
        for (_, endpoint) in &setting.endpoints {
            let stop = tasks.stop_token().clone();
            tasks.spawn(stop.run_until_cancelled_owned(endpoint.clone().keep()));
        }
        let host = HubHost::new(hub.clone(), setting.files, setting.terms, setting.endpoints);
        serve_peers(&node, &host, &tasks);
        let stored = Arc::new(StoredPeers(setting.store));
        let saved = stored.load().await?;
        let known = KnownPeers::open(node.clone(), stored, tasks.clone(), saved, setting.peers);
        let registry = Registry::with_blocked(setting.rules, known.blocked().clone());
        let peers = PeerTracker::new(
            hub,
            node.clone(),
            registry.clone(),
            host.clone(),
            known.clone(),
            tasks.clone(),
            is_relay,
        );
        tasks.spawn(peers.clone().run());
        let routes = PeerRoutes {
            node: node.clone(),
            known,
            registry: registry.clone(),
            peers,
            host: host.clone(),
            gatekeeper: setting.gatekeeper.clone(),
        };
        tasks.spawn(keep_registry(
            registry.clone(),
            is_relay.then(|| node.clone()),
            tasks.clone(),
        ));
        let hub_peer = HubPeer {
            peer_id: node.peer_id().to_string(),
            name: host.terms().name.clone(),
            addresses: {
                let node = node.clone();
                Arc::new(move || node.addresses().iter().map(ToString::to_string).collect())
            },
            agents: {
                let host = host.clone();
                Arc::new(move || host.reached())
            },
        };
        let registry = RegistryService {
            registry,
            hub: host.hub().clone(),
            allowed: host.terms().allowed.clone(),
            gatekeeper: setting.gatekeeper,
            hub_peer,
        };
        Ok(Self {
            node,
            registry,
            routes,
        })
    }

    /// Returns the [`Node`].
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the [`Dialler`] of the door.
    pub(crate) fn dialler(&self) -> Arc<dyn Dialler> {
        Arc::new(self.routes.clone())
    }

    /// Returns the routes of the registry and of `/v1/peers`, and their description.
    pub fn router(&self) -> (Router, OpenApi) {
        let (registry, mut api) = registry::router(self.registry.clone());
        let (routes, routes_api) = routes::router(self.routes.clone());
        api.merge(routes_api);
        (registry.merge(routes), api)
    }
}

/// Removes expired entries of the registry, and lets registered peers reserve a place at the hub's relay.
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
                    change_guests(&mut guests, registry.ids(), |peer, is_allowed| {
                        node.allow_relay(peer, is_allowed);
                    });
                }
            }
        }
    }
}

/// Reports the differences between two states of the registry. The work grows with their size and not with
/// its square.
fn change_guests<P: Copy + Eq + Hash>(
    guests: &mut HashSet<P>,
    now: HashSet<P>,
    mut allow: impl FnMut(P, bool),
) {
    for gone in guests.difference(&now) {
        allow(*gone, false);
    }
    for new in now.difference(guests) {
        allow(*new, true);
    }
    *guests = now;
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, hash::Hasher};

    use super::*;

    thread_local! {
        /// How often two ids were compared.
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// An id that counts how often it is compared with another.
    #[derive(Debug, Clone, Copy)]
    struct Counted(usize);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn guests_of_the_relay_change_by_work_in_proportion_to_their_number() {
        const PEERS: usize = 2000;
        let mut guests: HashSet<_> = (0..PEERS).map(Counted).collect();
        let now: HashSet<_> = (PEERS / 2..PEERS + PEERS / 2).map(Counted).collect();
        COMPARED.set(0);
        let (mut came, mut went) = (Vec::new(), Vec::new());
        change_guests(&mut guests, now, |peer, is_allowed| match is_allowed {
            true => came.push(peer.0),
            false => went.push(peer.0),
        });
        // Each id is looked up once in either set; some meet another one on the way.
        let compared = COMPARED.get();
        assert!(compared < 10 * PEERS, "{compared} comparisons");
        came.sort_unstable();
        went.sort_unstable();
        assert!(came.into_iter().eq(PEERS..PEERS + PEERS / 2));
        assert!(went.into_iter().eq(0..PEERS / 2));
        // Nobody is told again of those who stay.
        let same = guests.clone();
        change_guests(&mut guests, same, |peer, _| panic!("{peer:?} stays"));
    }
}
