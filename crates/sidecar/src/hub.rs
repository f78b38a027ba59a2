//! The hub of the sidecar. Once the agent's card was fetched, the sidecar keeps a connection with the hub,
//! which makes the agent one of the hub's. The hub says over HTTP where it is among peers, and whether it has
//! the agent.

use std::{sync::Arc, time::Duration};

use http::Method;
use jackfield_model::AgentId;
use jackfield_peer::{
    Multiaddr, PeerId,
    address::way_to_peer,
    agent_id::agent_id,
    node::{Node, PeerEvent},
    retry::RetryDelay,
    wire::registry::{Entry, read_peers},
};
use serde::Deserialize;
use tokio::{
    sync::{broadcast::error::RecvError, watch},
    time::sleep,
};

use super::{
    site::{HttpSite, SiteError},
    status::{HubStatus, SidecarStatus, until_seen},
};
use crate::endpoint::EndpointState;

/// Interval of checks whether the hub has attached the agent, which takes the hub a card and a moment.
const LOOK: Duration = Duration::from_millis(250);
/// Number of checks, after which the hub counts as unwilling.
const LOOKS: usize = 40;

/// Keeps the connection with the hub.
#[derive(Debug)]
pub(super) struct HubConnector {
    pub(super) site: HttpSite,
    pub(super) node: Node,
    pub(super) sight: watch::Receiver<EndpointState>,
    pub(super) tell: Arc<watch::Sender<SidecarStatus>>,
}

/// State of an agent in the hub's own API.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AgentState {
    Online,
    #[serde(other)]
    Other,
}

/// Why the hub's address is unknown.
#[derive(Debug, thiserror::Error)]
enum HubLookupError {
    #[error(transparent)]
    Site(#[from] SiteError),
    #[error("it says nothing of itself at /peers")]
    NoPeer,
}

impl HubConnector {
    /// Keeps the connection. Ends with the node.
    pub(super) async fn stay(self) {
        let mut sight = self.sight.clone();
        if !until_seen(&mut sight).await {
            return;
        }
        let mut retry = RetryDelay::new();
        let mut news = self.node.watch();
        loop {
            match self.find().await {
                Err(why) => self.tell(HubStatus::Unanswered(why.to_string().into())),
                Ok((hub, addresses)) => match self.node.connect_any(hub, &addresses).await {
                    Err(error) => self.tell_unreached(&error.to_string()).await,
                    Ok(()) => {
                        while self.node.peer(hub).is_some() {
                            self.node.keep(hub);
                            let name = name_of(&sight);
                            if self.be_taken(hub, &name).await {
                                retry.start_over();
                            }
                            let mut is_over = false;
                            // A changed name makes another agent at the hub.
                            while !is_over && name_of(&sight) == name {
                                tokio::select! {
                                    event = news.recv() => match event {
                                        Ok(PeerEvent::Disconnected { peer, .. }) => {
                                            is_over = peer == hub;
                                        }
                                        Ok(_) => {}
                                        Err(RecvError::Lagged(_)) => {
                                            is_over = self.node.peer(hub).is_none();
                                        }
                                        Err(RecvError::Closed) => return,
                                    },
                                    changed = sight.changed() => if changed.is_err() { return },
                                }
                            }
                        }
                        self.tell_unreached("the connection ended").await;
                    }
                },
            }
            sleep(retry.next_delay()).await;
        }
    }

    /// Returns the hub's peer id and addresses: the one entry of its list that was not registered.
    async fn find(&self) -> Result<(PeerId, Vec<Multiaddr>), HubLookupError> {
        let body = self.site.ask(Method::GET, "/peers", String::new()).await?;
        let listed = read_peers(&body).unwrap_or_default();
        let own = listed.iter().find(|it| it.registered_at.is_none());
        own.and_then(way_to).ok_or(HubLookupError::NoPeer)
    }

    /// Waits until the hub has attached the agent or counts as unwilling. Returns whether the connection
    /// lasted.
    async fn be_taken(&self, hub: PeerId, name: &str) -> bool {
        let Some(id) = agent_id(name, self.node.peer_id()) else {
            self.tell(HubStatus::Connected);
            return true;
        };
        for _ in 0..LOOKS {
            if self.is_taken(&id).await {
                self.tell(HubStatus::Callable(id.to_string().into()));
                return true;
            }
            sleep(LOOK).await;
            if self.node.peer(hub).is_none() {
                return false;
            }
        }
        self.tell(HubStatus::Connected);
        true
    }

    /// Reports why there is no connection. A hub that blocks this peer only closes the connection, and gives
    /// the reason over HTTP.
    async fn tell_unreached(&self, why: &str) {
        let path = format!("/register/{}", self.node.peer_id());
        let told = self.site.ask(Method::GET, &path, String::new()).await;
        self.tell(match told {
            Err(error) if error.is_forbidden() => HubStatus::Forbidden(error.to_string().into()),
            _ => HubStatus::Unreached(why.into()),
        });
    }

    async fn is_taken(&self, id: &AgentId) -> bool {
        #[derive(Deserialize)]
        struct Agent {
            state: AgentState,
        }
        let path = format!("/v1/agents/{id}");
        let Ok(body) = self.site.ask(Method::GET, &path, String::new()).await else {
            return false;
        };
        let agent: Result<Agent, _> = serde_json::from_slice(&body);
        agent.is_ok_and(|agent| agent.state == AgentState::Online)
    }

    fn tell(&self, hub: HubStatus) {
        self.tell.send_if_modified(|status| {
            let is_new = status.hub != hub;
            status.hub = hub;
            is_new
        });
    }
}

fn way_to(entry: &Entry) -> Option<(PeerId, Vec<Multiaddr>)> {
    let peer = entry.peer_id.parse().ok()?;
    let ways = entry.addresses.iter().filter_map(|it| way_to_peer(it).ok());
    let ways = ways.filter(|(it, _)| *it == peer);
    Some((peer, ways.map(|(_, address)| address).collect()))
}

fn name_of(sight: &watch::Receiver<EndpointState>) -> String {
    let sight = sight.borrow();
    sight
        .last()
        .map(|shown| shown.card.name.clone())
        .unwrap_or_default()
}
