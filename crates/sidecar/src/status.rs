//! The status of a sidecar: agent, addresses, relays, registry, hub. The program that started the sidecar
//! watches it.

use std::sync::Arc;

use jackfield_peer::{Multiaddr, node::ReservationState};
use tokio::sync::watch;

use crate::endpoint::EndpointState;

/// Status of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SidecarStatus {
    /// Status of the agent.
    pub agent: SidecarAgentStatus,
    /// Addresses at which peers reach the sidecar.
    pub addresses: Vec<Multiaddr>,
    /// State of each reservation at a relay.
    pub relays: Vec<(Multiaddr, ReservationState)>,
    /// Status of the entry in the registry.
    pub listing: ListingStatus,
    /// Status of the connection with the hub.
    pub hub: HubStatus,
}

/// Status of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SidecarAgentStatus {
    /// The card was not fetched yet.
    #[default]
    Unseen,
    /// The agent is reachable and has a card.
    Here {
        /// Name of the agent.
        name: String,
        /// Ids of its skills.
        skills: Vec<String>,
        /// Problems of its card.
        remarks: Vec<String>,
    },
    /// The agent is unreachable, for this reason.
    Gone(Arc<str>),
}

/// Status of the entry in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListingStatus {
    /// No entry, or none yet.
    #[default]
    None,
    /// The entry exists.
    Listed,
    /// The registry blocks this peer.
    Forbidden(Arc<str>),
    /// The registry does not answer, or refuses the entry.
    Failed {
        /// Reason, for people.
        why: Arc<str>,
        /// Whether the registry requires a token or a better proof.
        is_refused: bool,
    },
}

/// Status of the connection with the hub.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HubStatus {
    /// No hub, or not asked yet.
    #[default]
    None,
    /// The agent is callable at the hub, under this id.
    Callable(Arc<str>),
    /// Connected, but the agent is not one of the hub's, or that is unknown.
    Connected,
    /// The hub blocks this peer.
    Forbidden(Arc<str>),
    /// The hub does not answer over HTTP, for this reason, so its address among peers is unknown.
    Unanswered(Arc<str>),
    /// The hub cannot be reached among peers, for this reason.
    Unreached(Arc<str>),
}

impl From<&EndpointState> for SidecarAgentStatus {
    fn from(sight: &EndpointState) -> Self {
        match sight {
            EndpointState::Unseen => Self::Unseen,
            EndpointState::Here(shown) => Self::Here {
                name: shown.card.name.clone(),
                skills: shown.card.skills.iter().map(|it| it.id.clone()).collect(),
                remarks: shown.card.remarks(),
            },
            EndpointState::Gone(why, _) => Self::Gone(why.clone()),
        }
    }
}

/// Copies changes of the agent's state and of the addresses into the status.
pub(super) async fn gather(
    mut sight: watch::Receiver<EndpointState>,
    mut addresses: watch::Receiver<Vec<Multiaddr>>,
    tell: Arc<watch::Sender<SidecarStatus>>,
) {
    loop {
        let agent = SidecarAgentStatus::from(&*sight.borrow_and_update());
        let now = addresses.borrow_and_update().clone();
        tell.send_if_modified(|status| {
            let is_new = status.agent != agent || status.addresses != now;
            status.agent = agent;
            status.addresses = now;
            is_new
        });
        let changed = tokio::select! {
            changed = sight.changed() => changed,
            changed = addresses.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Waits until a card was fetched. Returns false if fetching has ended.
pub(super) async fn until_seen(sight: &mut watch::Receiver<EndpointState>) -> bool {
    let seen = sight.wait_for(|sight| sight.last().is_some()).await;
    seen.is_ok()
}
