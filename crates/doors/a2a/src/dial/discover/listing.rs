//! Agents that a server lists, before their cards are read.

use jackfield_kit::outbound::Url;

use super::{MAX_AGENTS, catalog, frameworks, probe::Probe};
use crate::{
    card::is_of_hub,
    dial::find::{CardFetchError, ReadCard},
};

/// Longest id or name in a list; longer ones are no ids.
const MAX_NAME: usize = 128;

/// Agents of a server.
#[derive(Debug)]
pub(super) struct Listing {
    /// Kind of the server, with its article.
    pub(super) server: &'static str,
    /// How the server is told to show cards, if its agents may be without.
    pub(super) start: Option<&'static str>,
    /// At most one agent more than [`MAX_AGENTS`], which shows that there are more.
    pub(super) agents: Vec<ListedAgent>,
}

/// An agent in a server's list.
#[derive(Debug)]
pub(super) struct ListedAgent {
    /// URL of the agent; a URL of another server is an error, and not asked.
    pub(super) url: Result<Url, String>,
    /// What tells the agent apart from others of its name.
    pub(super) key: String,
    /// Name in the list.
    pub(super) name: Option<String>,
}

impl Listing {
    /// Creates the list of a server's agents. Returns `None` for an empty list.
    pub(super) fn new(
        server: &'static str,
        start: Option<&'static str>,
        agents: impl Iterator<Item = ListedAgent>,
    ) -> Option<Self> {
        let agents: Vec<_> = agents.take(MAX_AGENTS + 1).collect();
        (!agents.is_empty()).then_some(Self {
            server,
            start,
            agents,
        })
    }
}

impl ListedAgent {
    /// Creates an agent below `base`, at the path that the words make. Returns `None` for words that are no part of
    /// a path.
    pub(super) fn below(base: &Url, words: &[&str], name: Option<String>) -> Option<Self> {
        let key = words.last()?;
        let is_word =
            |word: &&str| (1..=MAX_NAME).contains(&word.len()) && !matches!(*word, "." | "..");
        if !words.iter().all(is_word) {
            return None;
        }
        let mut url = base.clone();
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(words.iter());
        Some(Self {
            url: Ok(url),
            key: (*key).to_owned(),
            name: name.filter(|name| name.len() <= MAX_NAME),
        })
    }
}

/// Asks a server for its agents in every known way. `trouble` is the problem with the card at its root.
pub(super) async fn find(probe: &mut Probe<'_>, trouble: &CardFetchError) -> Option<Listing> {
    if let Some(listing) = frameworks::langgraph(probe, trouble).await {
        return Some(listing);
    }
    if let Some(listing) = frameworks::agno(probe).await {
        return Some(listing);
    }
    match frameworks::adk(probe).await {
        Some(listing) => Some(listing),
        None => catalog::find(probe).await,
    }
}

/// Returns the agents of another hub, perhaps none, which its card lists as skills. Returns `None` for the card of an
/// agent.
pub(super) fn hub_agents(read: &ReadCard) -> Option<Listing> {
    let card = &read.card;
    if !is_of_hub(&card.name, card.description.as_deref().unwrap_or_default()) {
        return None;
    }
    let base = Url::parse(&read.endpoint.place.url).ok()?;
    let skills = card.skills.iter().filter(|it| it.id != "switchboard");
    let agents =
        skills.filter_map(|it| ListedAgent::below(&base, &["agents", &it.id], it.name.clone()));
    let agents = agents.take(MAX_AGENTS + 1).collect();
    Some(Listing {
        server: "a hub",
        start: None,
        agents,
    })
}
