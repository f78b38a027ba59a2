//! The sidecar: a peer beside one agent behind HTTP, as the seed's SDK has it. Peers get the agent's own card
//! and hand off to the paths that the card declares. The sidecar holds reservations at relays and announces
//! the agent in a registry. It contains no hub.
//!
//! The agent may start later, stop and come back. Relays and registries learn of it only after its card was
//! fetched once.
//!
//! - `endpoint.rs` the agent behind HTTP, `fetch.rs` one request to it, `limits.rs` the limits of both; a hub
//!   offers such agents to peers too (`[[p2p.endpoint]]`)
//! - `host.rs` the answers to peers, `relay.rs` a relay and the connection with it
//! - `listing.rs` the entry in a registry, `hub.rs` the connection with a hub, `site.rs` HTTP requests to
//!   both
//! - `status.rs` the status of a sidecar, for the program that started it

mod endpoint;
mod fetch;
mod host;
mod hub;
pub mod limits;
mod listing;
mod relay;
mod site;
mod status;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use jackfield_kit::{
    outbound::{Outbound, OutboundError},
    tasks::Tasks,
};
use jackfield_peer::{
    Multiaddr, PeerId,
    address::{is_relayed, peer_of},
    allowed::Allowed,
    keys::Keypair,
    node::{Node, NodeConfig, NodeError, NodeRole, ReservationState},
    serve::serve_peers,
};
use tokio::{
    sync::{Mutex, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

pub use self::{
    endpoint::{Endpoint, EndpointError, EndpointState, SeenCard},
    fetch::Fetch,
    site::RegistryAt,
    status::{HubStatus, ListingStatus, SidecarAgentStatus, SidecarStatus},
};
use self::{host::AgentHost, hub::HubConnector, listing::RegistryClient, site::HttpSite};

/// Time to remove the entry from a registry at the end; otherwise the entry expires by itself.
const LEAVE: Duration = Duration::from_secs(3);

/// Configuration of a sidecar.
#[derive(Debug)]
pub struct SidecarConfig {
    /// Set of tasks that the sidecar runs in.
    pub tasks: Tasks,
    /// Key of the peer.
    pub key: Keypair,
    /// Configuration of the node.
    pub node: NodeConfig,
    /// HTTP client for the agent and the registry.
    pub outbound: Outbound,
    /// URL of the agent, whose card is at `/card` below.
    pub agent_url: String,
    /// Name of the agent; by default the name on its card.
    pub name: Option<String>,
    /// Peers that may hand off.
    pub allowed: Allowed,
    /// Relays at which to hold a reservation, as addresses that end in their peer ids.
    pub relays: Vec<Multiaddr>,
    /// Time that the agent has for a plain answer.
    pub deadline: Duration,
    /// Registry to announce the agent in.
    pub registry: Option<RegistryAt>,
    /// Hub to connect to, where the agent becomes callable.
    pub hub: Option<RegistryAt>,
}

/// Why a sidecar did not start.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// An address is no address of a relay.
    #[error("{0} is no address of a relay: it must end in /p2p/ID and lead there directly")]
    Relay(Multiaddr),
    /// The URL of the agent, of the registry or of the hub cannot be used.
    #[error(transparent)]
    Url(#[from] OutboundError),
    /// The node did not start.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// A running sidecar.
#[derive(Debug)]
pub struct Sidecar {
    node: Node,
    tasks: Tasks,
    status: watch::Receiver<SidecarStatus>,
    registry_client: Option<Arc<RegistryClient>>,
    /// Ends the background work: reservations, the entry in the registry, the connection with the hub.
    over: CancellationToken,
}

impl Sidecar {
    /// Starts a sidecar. Its node listens when the future resolves, with or without a running agent.
    pub async fn open(setting: SidecarConfig) -> Result<Self, SidecarError> {
        let SidecarConfig {
            tasks, outbound, ..
        } = setting;
        for relay in &setting.relays {
            if peer_of(relay).is_none() || is_relayed(relay) {
                return Err(SidecarError::Relay(relay.clone()));
            }
        }
        let endpoint = Endpoint::new(&outbound, &setting.agent_url, setting.name)?;
        let site = |at: Option<RegistryAt>| at.map(|at| HttpSite::new(at, &outbound)).transpose();
        let (registry, hub) = (site(setting.registry)?, site(setting.hub)?);
        let config = NodeConfig {
            role: NodeRole::Sidecar,
            ..setting.node
        };
        let node = Node::start(config, setting.key.clone(), &tasks).await?;
        let (tell, status) = watch::channel(SidecarStatus {
            addresses: node.addresses(),
            relays: setting
                .relays
                .iter()
                .map(|relay| (relay.clone(), ReservationState::Asking))
                .collect(),
            ..SidecarStatus::default()
        });
        let tell = Arc::new(tell);
        let host = AgentHost::new(endpoint.clone(), setting.allowed, setting.deadline);
        serve_peers(&node, &host, &tasks);
        let over = tasks.stop_token().child_token();
        let spawn_until_over = |work: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            tasks.spawn(over.clone().run_until_cancelled_owned(work));
        };
        spawn_until_over(Box::pin(status::gather(
            endpoint.watch(),
            node.watch_addresses(),
            tell.clone(),
        )));
        if let Some(site) = hub {
            let visitor = HubConnector {
                site,
                node: node.clone(),
                sight: endpoint.watch(),
                tell: tell.clone(),
            };
            spawn_until_over(Box::pin(visitor.stay()));
        }
        let registry_client = registry.map(|site| {
            Arc::new(RegistryClient {
                site,
                key: setting.key,
                node: node.clone(),
                relays: setting.relays.clone(),
                sight: endpoint.watch(),
                tell: tell.clone(),
                has_left: Mutex::new(false),
            })
        });
        if let Some(registry_client) = registry_client.clone() {
            spawn_until_over(Box::pin(registry_client.stay_listed()));
        }
        for (index, relay) in setting.relays.into_iter().enumerate() {
            let hold = relay::hold(node.clone(), relay, index, endpoint.watch(), tell.clone());
            spawn_until_over(Box::pin(hold));
        }
        spawn_until_over(Box::pin(endpoint.keep()));
        Ok(Self {
            node,
            tasks,
            status,
            registry_client,
            over,
        })
    }

    /// Returns the [`PeerId`].
    pub fn peer_id(&self) -> PeerId {
        self.node.peer_id()
    }

    /// Returns the [`Node`].
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Watches the [`SidecarStatus`]; only the newest value is kept.
    pub fn status(&self) -> watch::Receiver<SidecarStatus> {
        self.status.clone()
    }

    /// Stops the sidecar: removes its entry from the registry, then disconnects from peers, whose open
    /// handoffs have `grace` to finish.
    pub async fn close(self, grace: Duration) {
        if let Some(registry_client) = &self.registry_client {
            // An entry that cannot be removed expires by itself.
            drop(timeout(LEAVE, registry_client.leave()).await);
        }
        self.over.cancel();
        self.tasks.stop(grace).await;
    }
}
