//! The lists of agents that frameworks serve: LangGraph, Agno AgentOS and Google ADK. The shapes are those of the
//! published servers, which the tests run.

use jackfield_kit::outbound::Url;
use serde::Deserialize;

use super::{
    listing::{ListedAgent, Listing},
    probe::Probe,
};
use crate::{
    dial::find::CardFetchError,
    wire::card::{KINDS, PATH},
};

/// Number of assistants that LangGraph is asked for: one more than [`super::MAX_AGENTS`]. Its own default is 10.
pub(super) const ASSISTANTS: &str = r#"{"limit": 101}"#;

/// Number of letters of an assistant's id that tell it apart; the ids are UUIDs.
const SHORT_ID: usize = 8;

/// An agent with an id, as both AgentOS and LangGraph write it under names of their own.
#[derive(Debug, Deserialize)]
struct NamedEntry {
    #[serde(alias = "assistant_id")]
    id: Option<String>,
    name: Option<String>,
}

/// LangGraph has a card for each assistant, by a query parameter, and says so at the path of the card.
pub(super) async fn langgraph(probe: &mut Probe<'_>, trouble: &CardFetchError) -> Option<Listing> {
    // Only a refusal of the request for the card is worth a second look.
    if !matches!(trouble, CardFetchError::Status { status, .. } if status.is_client_error()) {
        return None;
    }
    let refused = probe.fetch(PATH).await?;
    let says = String::from_utf8_lossy(&refused.body);
    if !refused.status.is_client_error() || !says.contains("assistant_id") {
        return None;
    }
    let assistants: Vec<NamedEntry> = probe.post("/assistants/search", ASSISTANTS).await?;
    let base = probe.base().clone();
    let agents = assistants.into_iter().filter_map(|assistant| {
        let id = assistant.id.filter(|id| !id.is_empty())?;
        Some(ListedAgent {
            url: Ok(of_assistant(&base, &id)),
            key: id.chars().take(SHORT_ID).collect(),
            name: assistant.name,
        })
    });
    Listing::new("a LangGraph server", None, agents)
}

/// Returns the URL that names an assistant of a LangGraph server.
fn of_assistant(base: &Url, id: &str) -> Url {
    let mut url = base.clone();
    url.query_pairs_mut().append_pair("assistant_id", id);
    url
}

/// What an AgentOS tells about itself at `/config`.
#[derive(Debug, Deserialize)]
struct AgentOsConfig {
    // Tells an AgentOS from other servers with a path `/config`.
    #[serde(rename = "os_id")]
    _os_id: serde::de::IgnoredAny,
    #[serde(default)]
    agents: Vec<NamedEntry>,
    #[serde(default)]
    teams: Vec<NamedEntry>,
    #[serde(default)]
    workflows: Vec<NamedEntry>,
    #[serde(default)]
    interfaces: Vec<AgentOsInterface>,
}

#[derive(Debug, Deserialize)]
struct AgentOsInterface {
    r#type: Option<String>,
    route: Option<String>,
}

/// Agno AgentOS lists agents, teams and workflows, and the path of its A2A interface.
pub(super) async fn agno(probe: &mut Probe<'_>) -> Option<Listing> {
    let AgentOsConfig {
        _os_id: _,
        agents,
        teams,
        workflows,
        interfaces,
    } = probe.get("/config").await?;
    let mut routes = interfaces
        .into_iter()
        .filter(|it| it.r#type.as_deref() == Some("a2a"));
    let route = routes.next().and_then(|it| it.route);
    let base = probe.url(route.as_deref().unwrap_or("/a2a"));
    let entries = KINDS.into_iter().zip([agents, teams, workflows]);
    let agents = entries.flat_map(|(kind, entries)| entries.into_iter().map(move |it| (kind, it)));
    let agents =
        agents.filter_map(|(kind, it)| ListedAgent::below(&base, &[kind, &it.id?], it.name));
    let start =
        "agents without a card are not in the interface A2A: AgentOS(interfaces=[A2A(agents=[…])])";
    Listing::new("an Agno AgentOS", Some(start), agents)
}

/// Google ADK lists the names of its apps.
pub(super) async fn adk(probe: &mut Probe<'_>) -> Option<Listing> {
    let apps: Vec<String> = probe.get("/list-apps").await?;
    let base = probe.base().clone();
    let agents = apps
        .iter()
        .filter_map(|app| ListedAgent::below(&base, &["a2a", app], None));
    let start =
        "apps without a card need an agent.json beside their code, and a server started with --a2a";
    Listing::new("a server of Google ADK", Some(start), agents)
}
