//! Catalogs of agents: an AI Catalog, which A2A recommends for servers with several agents, and an API catalog
//! (RFC 9727) that links to cards.

use jackfield_kit::outbound::{Url, origin_of};
use serde::Deserialize;

use super::{
    listing::{ListedAgent, Listing},
    probe::Probe,
};

/// Path of an AI Catalog.
const AI_CATALOG: &str = "/.well-known/ai-catalog.json";

/// Paths of an API catalog: that of RFC 9727, and that of the samples of the A2A project.
const API_CATALOGS: [&str; 2] = ["/.well-known/api-catalog", "/.well-known/api-catalog.json"];

/// Media type of an agent card.
const CARD_TYPE: &str = "application/a2a-agent-card+json";

/// File names of cards, by which an API catalog tells cards from descriptions of other APIs.
const CARD_FILES: [&str; 2] = ["agent-card.json", "agent.json"];

#[derive(Debug, Deserialize)]
struct AiCatalog {
    entries: Vec<CatalogEntry>,
}

/// An entry of an AI Catalog. Drafts called the type `mediaType`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogEntry {
    #[serde(alias = "mediaType")]
    r#type: Option<String>,
    url: Option<String>,
    display_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ApiCatalog {
    linkset: Vec<CatalogLinks>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CatalogLinks {
    #[serde(default)]
    describedby: Vec<CatalogLink>,
    #[serde(default)]
    service_desc: Vec<CatalogLink>,
    #[serde(default)]
    item: Vec<CatalogLink>,
}

#[derive(Debug, Deserialize)]
struct CatalogLink {
    href: String,
    title: Option<String>,
}

/// Reads the catalog of a server.
pub(super) async fn find(probe: &mut Probe<'_>) -> Option<Listing> {
    let base = probe.base().clone();
    if let Some(catalog) = probe.get::<AiCatalog>(AI_CATALOG).await {
        let cards = catalog.entries.into_iter();
        let cards = cards.filter(|it| it.r#type.as_deref() == Some(CARD_TYPE));
        let agents = cards.filter_map(|it| of_card(&base, &it.url?, it.display_name));
        return Listing::new("a server with an AI Catalog", None, agents);
    }
    for path in API_CATALOGS {
        let Some(catalog) = probe.get::<ApiCatalog>(path).await else {
            continue;
        };
        let links = catalog.linkset.into_iter().flat_map(|links| {
            let described = links.describedby.into_iter().chain(links.service_desc);
            described.chain(links.item)
        });
        let cards = links.filter(|link| {
            let path = link.href.split(['?', '#']).next().unwrap_or_default();
            CARD_FILES.iter().any(|name| path.ends_with(name))
        });
        let agents = cards.filter_map(|link| of_card(&base, &link.href, link.title));
        return Listing::new("a server with an API catalog", None, agents);
    }
    None
}

/// Returns the agent whose card is at `card`, which may be relative to the server.
fn of_card(base: &Url, card: &str, name: Option<String>) -> Option<ListedAgent> {
    let url = base.join(card).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    // The folder above the card: `/agents/dice/.well-known/agent-card.json` is that of `dice`.
    let path = url.path().replace("/.well-known/", "/");
    let mut folders = path.rsplit('/').skip(1);
    let key = folders.find(|it| !it.is_empty());
    let key = key.unwrap_or(url.host_str().unwrap_or_default()).to_owned();
    let is_here = origin_of(&url) == origin_of(base);
    Some(ListedAgent {
        url: match is_here {
            true => Ok(url),
            false => Err(url.into()),
        },
        key,
        name,
    })
}
