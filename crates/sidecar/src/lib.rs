//! The sidecar: a node beside one agent behind HTTP, as the seed's SDK has it. Peers get the agent's own card and hand off
//! to what the card declares; the sidecar holds places at relays and says in a registry where the agent is. There is no
//! hub in it.
//!
//! The agent may start later, stop and come back. Nothing is said of it to relays and registries before it was seen once.
//!
//! - `endpoint.rs` the agent behind HTTP, `fetch.rs` one request to it, `limits.rs` the limits of both; a hub offers such
//!   agents to peers too (`[[p2p.endpoint]]`)
//! - `host.rs` what peers get, `relay.rs` a relay and the connection with it
//! - `listing.rs` the entry in a registry, `hub.rs` the connection with a hub, `site.rs` how both are asked over HTTP
//! - `standing.rs` how things stand, for whoever started it

mod endpoint;
mod fetch;
mod host;
mod hub;
pub mod limits;
mod listing;
mod relay;
mod site;
mod standing;
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
    node::{Node, NodeConfig, NodeError, ReservationState, Role},
    serve::serve_peers,
};
use tokio::{
    sync::{Mutex, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

pub use self::{
    endpoint::{Endpoint, EndpointError, Shown, Sight},
    fetch::Fetch,
    site::RegistryAt,
    standing::{AgentStanding, HubStanding, Listing, Standing},
};
use self::{host::Beside, hub::Visitor, listing::Lister, site::Site};

/// How long taking leave of a registry may take: what it holds ends by itself.
const LEAVE: Duration = Duration::from_secs(3);

/// What a sidecar is made of.
#[derive(Debug)]
pub struct Setting {
    /// Where its tasks run.
    pub tasks: Tasks,
    /// The agent's key among peers.
    pub key: Keypair,
    /// Where the node listens.
    pub node: NodeConfig,
    /// The way to the agent and to the registry.
    pub outbound: Outbound,
    /// Where the agent is, with its card at `/card` below.
    pub agent_url: String,
    /// What it is called, if not as its card says.
    pub name: Option<String>,
    /// Who may hand off.
    pub allowed: Allowed,
    /// Relays at which it holds a place, as addresses that end in their ids.
    pub relays: Vec<Multiaddr>,
    /// How long the agent has for a plain answer.
    pub deadline: Duration,
    /// Where others find it.
    pub registry: Option<RegistryAt>,
    /// The hub among whose agents it is, by a connection that it keeps.
    pub hub: Option<RegistryAt>,
}

/// Why a sidecar does not start.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// An address of a relay is none.
    #[error("{0} is no address of a relay: it must end in /p2p/ID and lead there directly")]
    Relay(Multiaddr),
    /// The URL of the agent or of the registry is none.
    #[error(transparent)]
    Url(#[from] OutboundError),
    /// The node did not start.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// A sidecar that runs.
#[derive(Debug)]
pub struct Sidecar {
    node: Node,
    tasks: Tasks,
    standing: watch::Receiver<Standing>,
    lister: Option<Arc<Lister>>,
    /// Ends what it does by itself: holding places, being listed.
    over: CancellationToken,
}

impl Sidecar {
    /// Starts it: it listens when this returns, whether the agent is there or not.
    pub async fn open(setting: Setting) -> Result<Self, SidecarError> {
        let Setting {
            tasks, outbound, ..
        } = setting;
        for relay in &setting.relays {
            if peer_of(relay).is_none() || is_relayed(relay) {
                return Err(SidecarError::Relay(relay.clone()));
            }
        }
        let endpoint = Endpoint::new(&outbound, &setting.agent_url, setting.name)?;
        let site = |at: Option<RegistryAt>| at.map(|at| Site::new(at, &outbound)).transpose();
        let (registry, hub) = (site(setting.registry)?, site(setting.hub)?);
        let config = NodeConfig {
            role: Role::Sidecar,
            ..setting.node
        };
        let node = Node::start(config, setting.key.clone(), &tasks).await?;
        let (tell, standing) = watch::channel(Standing {
            addresses: node.addresses(),
            relays: setting
                .relays
                .iter()
                .map(|relay| (relay.clone(), ReservationState::Asking))
                .collect(),
            ..Standing::default()
        });
        let tell = Arc::new(tell);
        let host = Beside::new(endpoint.clone(), setting.allowed, setting.deadline);
        serve_peers(&node, &host, &tasks);
        let over = tasks.stop_token().child_token();
        let spawn_until_over = |work: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            tasks.spawn(over.clone().run_until_cancelled_owned(work));
        };
        spawn_until_over(Box::pin(standing::gather(
            endpoint.watch(),
            node.watch_addresses(),
            tell.clone(),
        )));
        if let Some(site) = hub {
            let visitor = Visitor {
                site,
                node: node.clone(),
                sight: endpoint.watch(),
                tell: tell.clone(),
            };
            spawn_until_over(Box::pin(visitor.stay()));
        }
        let lister = registry.map(|site| {
            Arc::new(Lister {
                site,
                key: setting.key,
                node: node.clone(),
                relays: setting.relays.clone(),
                sight: endpoint.watch(),
                tell: tell.clone(),
                has_left: Mutex::new(false),
            })
        });
        if let Some(lister) = lister.clone() {
            spawn_until_over(Box::pin(lister.stay_listed()));
        }
        for (index, relay) in setting.relays.into_iter().enumerate() {
            let hold = relay::hold(node.clone(), relay, index, endpoint.watch(), tell.clone());
            spawn_until_over(Box::pin(hold));
        }
        spawn_until_over(Box::pin(endpoint.keep()));
        Ok(Self {
            node,
            tasks,
            standing,
            lister,
            over,
        })
    }

    /// Who it is.
    pub fn peer_id(&self) -> PeerId {
        self.node.peer_id()
    }

    /// Its node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// How things stand, as they change: one value at a time, the newest.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Takes leave: of the registry, then of the peers, whose open handoffs have `grace`.
    pub async fn close(self, grace: Duration) {
        if let Some(lister) = &self.lister {
            // Who cannot be told forgets by itself.
            drop(timeout(LEAVE, lister.leave()).await);
        }
        self.over.cancel();
        self.tasks.stop(grace).await;
    }
}
