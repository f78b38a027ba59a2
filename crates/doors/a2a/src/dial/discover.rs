//! Discovery: the agents of a server, each with the address by which it can be added. A server may have one card, or
//! list several agents: Agno AgentOS, LangGraph, Google ADK, another hub, or a server with a catalog.
//!
//! - [`listing`]: the agents that a server lists, [`probe`]: requests for lists, with a record of the answers
//! - [`frameworks`]: the lists of known frameworks, [`catalog`]: the lists of the published catalogs
//!
//! All requests go to the typed origin, so that credentials go to no other server. Number, size and time of the
//! requests are bounded.

mod catalog;
mod frameworks;
mod listing;
mod probe;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use jackfield_kit::outbound::{Outbound, Url, origin_of};
use tokio::time::Instant;

use self::{
    listing::{ListedAgent, Listing, hub_agents},
    probe::Probe,
};
use super::{
    credentials::Credentials,
    find::{CardFetchError, CardPlaces, ReadCard, TriedUrl, read_card},
    profile::profile_from_card,
};

/// Largest number of agents of one server. A list of more is cut, and the operator is told.
const MAX_AGENTS: usize = 100;

/// Number of cards that are fetched at once, so that a server is not flooded.
const AT_ONCE: usize = 8;

/// Time for the cards of all agents of a server. An operator waits for the result.
const CARDS_TIME: Duration = Duration::from_secs(45);

/// Agents found at an address.
#[derive(Debug)]
pub(super) struct DiscoveredAgents {
    /// Kind of the server, if it lists its agents.
    pub(super) server: Option<&'static str>,
    /// Agents, in the order of the server.
    pub(super) agents: Vec<DiscoveredAgent>,
    /// True if the server lists more than [`MAX_AGENTS`].
    pub(super) is_cut: bool,
    /// What to do about agents without a card.
    pub(super) hint: Option<&'static str>,
}

/// An agent of a server.
#[derive(Debug)]
pub(super) struct DiscoveredAgent {
    /// URL by which the agent can be added.
    pub(super) url: String,
    /// What tells the agent apart from others of its name.
    pub(super) key: String,
    /// Name on the card, else in the list.
    pub(super) name: String,
    /// Facts from the card, or the reason why the agent cannot be added.
    pub(super) card: Result<CardFacts, String>,
}

/// Facts from a card, for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CardFacts {
    pub(super) description: Option<String>,
    pub(super) speaks: String,
}

impl CardFacts {
    fn of(read: &ReadCard) -> Self {
        let place = &read.endpoint.place;
        let (version, binding) = (place.version.name(), place.binding.name());
        Self {
            description: profile_from_card(&read.card).description,
            speaks: format!("A2A {version}, {binding}"),
        }
    }
}

/// The reason why nothing was found.
#[derive(Debug, thiserror::Error)]
#[error("{card}{}", Self::lists(.tried))]
pub(super) struct NothingFound {
    /// Problem with the card.
    pub(super) card: CardFetchError,
    /// Lists that were asked for, with the server's answers; empty if none was.
    pub(super) tried: Vec<TriedUrl>,
}

impl NothingFound {
    /// Returns the end of the sentence about lists of agents.
    fn lists(tried: &[TriedUrl]) -> String {
        match tried {
            [] => String::new(),
            tried => format!("; and no list of agents at {}", TriedUrl::list(tried)),
        }
    }
}

impl From<CardFetchError> for NothingFound {
    fn from(card: CardFetchError) -> Self {
        let tried = Vec::new();
        Self { card, tried }
    }
}

/// Finds the agents at an address. `is_own` recognises the hub's own cards.
pub(super) async fn discover(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
    is_own: impl Fn(&ReadCard) -> bool,
) -> Result<DiscoveredAgents, NothingFound> {
    let outbound = outbound
        .trusting([origin_of(url).as_str()])
        .map_err(CardFetchError::from)?;
    let trouble = match read_card(&outbound, url, credentials, CardPlaces::AlsoRoot).await {
        Ok(card) if is_own(&card) => {
            let url = card.shown_url();
            return Err(CardFetchError::Itself { url }.into());
        }
        Ok(card) => {
            return Ok(match hub_agents(&card) {
                Some(listing) => check_cards(&outbound, credentials, listing).await,
                None => one(url, &card),
            });
        }
        Err(trouble) => trouble,
    };
    ask_for_lists(&outbound, url, credentials, trouble).await
}

/// Finds the agents of a server that has no card at the address; `trouble` is the problem with the card.
pub(super) async fn ask_for_lists(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
    trouble: CardFetchError,
) -> Result<DiscoveredAgents, NothingFound> {
    let Some(mut probe) = Probe::new(outbound, url, credentials).filter(|_| may_list(&trouble))
    else {
        return Err(trouble.into());
    };
    match listing::find(&mut probe, &trouble).await {
        Some(listing) => Ok(check_cards(outbound, credentials, listing).await),
        None => Err(NothingFound {
            card: trouble,
            tried: probe.into_tried(),
        }),
    }
}

/// Returns whether a server with this problem may be one that lists its agents elsewhere.
fn may_list(trouble: &CardFetchError) -> bool {
    match trouble {
        CardFetchError::Nowhere { .. }
        | CardFetchError::Status { .. }
        | CardFetchError::Useless { .. } => true,
        CardFetchError::Outbound(_)
        | CardFetchError::Credentials(_)
        | CardFetchError::Denied { .. }
        | CardFetchError::Redirected { .. }
        | CardFetchError::TooLarge { .. }
        | CardFetchError::Cut { .. }
        | CardFetchError::Itself { .. } => false,
    }
}

/// Returns the agent whose card was found at the address itself.
fn one(url: &Url, card: &ReadCard) -> DiscoveredAgents {
    let agent = DiscoveredAgent {
        url: url.to_string(),
        key: url.host_str().unwrap_or_default().to_owned(),
        name: profile_from_card(&card.card).name,
        card: Ok(CardFacts::of(card)),
    };
    DiscoveredAgents {
        server: None,
        agents: vec![agent],
        is_cut: false,
        hint: None,
    }
}

/// Reads the cards of listed agents, several at once, in the order of the list.
async fn check_cards(
    outbound: &Outbound,
    credentials: &Credentials,
    listing: Listing,
) -> DiscoveredAgents {
    let deadline = Instant::now() + CARDS_TIME;
    let Listing {
        server,
        start,
        mut agents,
    } = listing;
    let is_cut = agents.len() > MAX_AGENTS;
    agents.truncate(MAX_AGENTS);
    let checks = agents
        .into_iter()
        .map(|listed| check_card(outbound, credentials, listed, deadline));
    let agents: Vec<_> = stream::iter(checks).buffered(AT_ONCE).collect().await;
    let is_any_missing = agents.iter().any(|agent| agent.card.is_err());
    DiscoveredAgents {
        server: Some(server),
        agents,
        is_cut,
        hint: start.filter(|_| is_any_missing),
    }
}

async fn check_card(
    outbound: &Outbound,
    credentials: &Credentials,
    listed: ListedAgent,
    deadline: Instant,
) -> DiscoveredAgent {
    let ListedAgent { url, key, name } = listed;
    let read = match &url {
        Ok(url) => {
            let read = read_card(outbound, url, credentials, CardPlaces::BelowOnly);
            match tokio::time::timeout_at(deadline, read).await {
                Ok(read) => read.map_err(|trouble| trouble.to_string()),
                Err(_) => Err(format!(
                    "the cards of this server took longer than {} seconds",
                    CARDS_TIME.as_secs()
                )),
            }
        }
        Err(elsewhere) => Err(format!(
            "it is at another server; add {elsewhere} by itself"
        )),
    };
    let on_card = read
        .as_ref()
        .ok()
        .map(|read| profile_from_card(&read.card).name);
    DiscoveredAgent {
        url: url.map_or_else(|elsewhere| elsewhere, String::from),
        name: on_card.or(name).unwrap_or_else(|| key.clone()),
        key,
        card: read.map(|read| CardFacts::of(&read)),
    }
}
