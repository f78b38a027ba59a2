//! How things stand with a sidecar: the agent, the addresses, the relays, the registry. Whoever started it reads this.

use std::sync::Arc;

use jackfield_peer::{Multiaddr, node::ReservationState};
use tokio::sync::watch;

use crate::endpoint::Sight;

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// With the agent.
    pub agent: AgentStanding,
    /// Where peers reach it.
    pub addresses: Vec<Multiaddr>,
    /// With the places at relays.
    pub relays: Vec<(Multiaddr, ReservationState)>,
    /// With its entry in the registry.
    pub listing: Listing,
    /// With its hub.
    pub hub: HubStanding,
}

/// How it stands with the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AgentStanding {
    /// Nobody has looked yet.
    #[default]
    Unseen,
    /// It shows a card.
    Here {
        /// What it is called.
        name: String,
        /// The ids of its skills.
        skills: Vec<String>,
        /// What is wrong with its card.
        remarks: Vec<String>,
    },
    /// It shows none, for this reason.
    Gone(Arc<str>),
}

/// How it stands with the entry in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Listing {
    /// There is none, or none yet.
    #[default]
    None,
    /// Others find it there.
    Listed,
    /// The registry does not want this peer.
    Forbidden(Arc<str>),
    /// The registry does not answer, or refuses it.
    Failed {
        /// What it says.
        why: Arc<str>,
        /// Whether it wants to see a token or a better proof.
        is_refused: bool,
    },
}

/// How it stands with the hub.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HubStanding {
    /// There is none, or nobody has asked yet.
    #[default]
    None,
    /// It is an agent there, by this id.
    Callable(Arc<str>),
    /// It is connected, and is no agent there, or is not told whether it is.
    Connected,
    /// The hub does not want this peer.
    Forbidden(Arc<str>),
    /// The hub does not answer over HTTP, for this reason, so that nobody knows where it is among peers.
    Unanswered(Arc<str>),
    /// No connection leads to it, for this reason.
    Unreached(Arc<str>),
}

impl From<&Sight> for AgentStanding {
    fn from(sight: &Sight) -> Self {
        match sight {
            Sight::Unseen => Self::Unseen,
            Sight::Here(shown) => Self::Here {
                name: shown.card.name.clone(),
                skills: shown.card.skills.iter().map(|it| it.id.clone()).collect(),
                remarks: shown.card.remarks(),
            },
            Sight::Gone(why, _) => Self::Gone(why.clone()),
        }
    }
}

/// Writes down what is known of the agent and where it is reached, as that changes.
pub(super) async fn gather(
    mut sight: watch::Receiver<Sight>,
    mut addresses: watch::Receiver<Vec<Multiaddr>>,
    tell: Arc<watch::Sender<Standing>>,
) {
    loop {
        let agent = AgentStanding::from(&*sight.borrow_and_update());
        let now = addresses.borrow_and_update().clone();
        tell.send_if_modified(|standing| {
            let is_new = standing.agent != agent || standing.addresses != now;
            standing.agent = agent;
            standing.addresses = now;
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

/// Waits until the agent has shown a card; false if nobody looks any more.
pub(super) async fn until_seen(sight: &mut watch::Receiver<Sight>) -> bool {
    let seen = sight.wait_for(|sight| sight.last().is_some()).await;
    seen.is_ok()
}
