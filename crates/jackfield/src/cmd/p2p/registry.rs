//! The hub's registry as the commands ask it. Its errors have a shape of their own, so what to do next is told here.

use anyhow::Result;
use http::Method;
use jackfield_sdk::{Error, Hub, encode};
use serde_json::{Value, json};

use crate::{
    client,
    exit::{About, Code, Stop},
    output::{items, text},
};

/// How many peers are asked for at once: the most that a registry tells.
const PAGE: usize = 1000;
/// How many pages are read in search of one peer.
const PAGES: usize = 10;

/// A peer as the registry tells of it.
#[derive(Debug, Clone)]
pub(super) struct Listed(pub(super) Value);

impl Listed {
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

/// What is looked for. All that is given must fit.
#[derive(Debug, Default)]
pub(super) struct Sought<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) skill: Option<&'a str>,
    pub(super) words: Option<&'a str>,
}

/// The peers that fit.
pub(super) async fn find(hub: &Hub, sought: &Sought<'_>) -> Result<Vec<Listed>> {
    page(hub, sought, 0).await
}

/// The peer with this id.
pub(super) async fn find_id(hub: &Hub, id: &str) -> Result<Option<Listed>> {
    find_first(hub, |listed| listed.peer_id() == id).await
}

/// The first peer that is like that.
pub(super) async fn find_first(
    hub: &Hub,
    is_it: impl Fn(&Listed) -> bool,
) -> Result<Option<Listed>> {
    for number in 0..PAGES {
        let listed = page(hub, &Sought::default(), number).await?;
        let is_last = listed.len() < PAGE;
        let found = listed.into_iter().find(&is_it);
        if found.is_some() || is_last {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The hub itself: the one that nobody had to register.
pub(super) async fn find_own(hub: &Hub) -> Result<Option<Listed>> {
    let listed = page(hub, &Sought::default(), 0).await?;
    let mut listed = listed.into_iter();
    Ok(listed.find(|listed| listed.0["registered_at"].is_null()))
}

/// The agents for a goal, the best first: the name of each, and its peer.
pub(super) async fn find_for(hub: &Hub, goal: &str) -> Result<Vec<Value>> {
    let goal = json!({ "goal": goal });
    let found = client::ask(hub, Method::POST, "/agents/find", Some(&goal)).await;
    Ok(list(found.map_err(|error| stop(&error))?))
}

async fn page(hub: &Hub, sought: &Sought<'_>, number: usize) -> Result<Vec<Listed>> {
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
    let found = client::ask(hub, Method::GET, &path, None).await;
    let found = list(found.map_err(|error| stop(&error))?);
    Ok(found.into_iter().map(Listed).collect())
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

/// What a registry's refusal means, by its status.
fn stop(error: &Error) -> Stop {
    match error {
        Error::Refused { status: 404, .. } => Stop::new(
            Code::Missing,
            "this hub is no peer and has no registry",
            "start it with enabled = true in [p2p], or name another with --hub URL",
        ),
        Error::Refused { status: 401, .. } => {
            let unauthorized = Error::Failed {
                code: "unauthorized".to_owned(),
                cause: None,
                message: "the hub's registry wants a token".to_owned(),
            };
            Stop::from_hub(&unauthorized, About::Agent)
        }
        other => Stop::from_hub(other, About::Agent),
    }
}
