//! Client of the hub's registry. The registry's errors have a different format, so the advice is chosen here.

use anyhow::Result;
use http::Method;
use jackfield_sdk::{Error, Hub, encode};
use serde_json::{Value, json};

use crate::{
    client,
    exit::{CliError, ErrorSubject, ExitKind},
    output::{items, text},
};

/// Number of peers per request: the registry's maximum.
const PAGE: usize = 1000;
/// Maximum number of pages in a search for one peer.
const PAGES: usize = 10;

/// A peer in the registry's format.
#[derive(Debug, Clone)]
pub(super) struct RegistryEntry(pub(super) Value);

impl RegistryEntry {
    pub(super) fn name(&self) -> &str {
        text(&self.0, "agent_name")
    }

    pub(super) fn peer_id(&self) -> &str {
        text(&self.0, "peer_id")
    }

    pub(super) fn skills(&self) -> Vec<&str> {
        texts(&self.0, "capabilities")
    }

    pub(super) fn addresses(&self) -> Vec<&str> {
        texts(&self.0, "addresses")
    }
}

/// Search criteria. All given criteria must match.
#[derive(Debug, Default)]
pub(super) struct RegistryQuery<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) skill: Option<&'a str>,
    pub(super) words: Option<&'a str>,
}

/// Returns the peers that match [`RegistryQuery`].
pub(super) async fn find(hub: &Hub, sought: &RegistryQuery<'_>) -> Result<Vec<RegistryEntry>> {
    page(hub, sought, 0).await
}

/// Returns the peer with this id.
pub(super) async fn find_id(hub: &Hub, id: &str) -> Result<Option<RegistryEntry>> {
    find_first(hub, |listed| listed.peer_id() == id).await
}

/// Returns the first peer that matches `is_it`.
pub(super) async fn find_first(
    hub: &Hub,
    is_it: impl Fn(&RegistryEntry) -> bool,
) -> Result<Option<RegistryEntry>> {
    for number in 0..PAGES {
        let listed = page(hub, &RegistryQuery::default(), number).await?;
        let is_last = listed.len() < PAGE;
        let found = listed.into_iter().find(&is_it);
        if found.is_some() || is_last {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the hub itself: the only entry without a time of registration.
pub(super) async fn find_own(hub: &Hub) -> Result<Option<RegistryEntry>> {
    let listed = page(hub, &RegistryQuery::default(), 0).await?;
    let mut listed = listed.into_iter();
    Ok(listed.find(|listed| listed.0["registered_at"].is_null()))
}

/// Returns the agents for a goal, best first: name and peer of each.
pub(super) async fn find_for(hub: &Hub, goal: &str) -> Result<Vec<Value>> {
    let goal = json!({ "goal": goal });
    let found = client::request(hub, Method::POST, "/agents/find", Some(&goal)).await;
    Ok(list(found.map_err(|error| stop(&error))?))
}

async fn page(hub: &Hub, sought: &RegistryQuery<'_>, number: usize) -> Result<Vec<RegistryEntry>> {
    let mut path = format!(
        "/peers?format=list&limit={PAGE}&offset={offset}",
        offset = number * PAGE
    );
    for (key, value) in [
        ("agent_name", sought.name),
        ("skill", sought.skill),
        ("q", sought.words),
    ] {
        if let Some(value) = value {
            path += &format!("&{key}={}", encode(value));
        }
    }
    let found = client::request(hub, Method::GET, &path, None).await;
    let found = list(found.map_err(|error| stop(&error))?);
    Ok(found.into_iter().map(RegistryEntry).collect())
}

fn list(answer: Value) -> Vec<Value> {
    match answer {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    items(value, key).iter().filter_map(Value::as_str).collect()
}

/// Converts an [`Error`] of the registry, by its status.
fn stop(error: &Error) -> CliError {
    match error {
        Error::Refused { status: 404, .. } => CliError::new(
            ExitKind::Missing,
            "libp2p is not enabled on this hub, so it has no registry",
            "start it with enabled = true in [p2p], or name another with --hub URL",
        ),
        Error::Refused { status: 401, .. } => {
            let unauthorized = Error::Failed {
                code: "unauthorized".to_owned(),
                cause: None,
                message: "the hub's registry needs a token".to_owned(),
            };
            CliError::from_hub(&unauthorized, ErrorSubject::Agent)
        }
        other => CliError::from_hub(other, ErrorSubject::Agent),
    }
}
