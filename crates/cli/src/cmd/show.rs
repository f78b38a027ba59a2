//! `jackfield show`: shows one agent or one call, or what passes between two agents.

mod calls;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_model::TaskId;
use jackfield_sdk::{Hub, encode};
use serde_json::Value;

use super::{ls::skills, task};
use crate::{
    client::{self, Client},
    exit::{ErrorSubject, ExitKind, WithErrorSubject},
    output::{self, items, text, time},
};

/// Show one agent, or one call: its messages, and its parent calls.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield show echo\n  jackfield show 0199c2f0-1111-7aaa-8bbb-123456789abc\n  jackfield show --calls planner echo"
)]
pub(crate) struct Show {
    /// Show the agent, task or open call with this id
    #[arg(value_parser = client::agent_id, required_unless_present = "calls")]
    agent: Option<String>,
    /// Show which features pass when the first agent calls the second
    #[arg(long, num_args = 2, value_names = ["CALLER", "CALLED"], value_parser = client::agent_id, conflicts_with = "agent")]
    calls: Option<Vec<String>>,
    #[command(flatten)]
    client: Client,
}

impl Show {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        if let Some([caller, called]) = self.calls.as_deref() {
            calls::show(&hub, &self.client, caller, called).await?;
            return Ok(ExitKind::Ok.into());
        }
        let id = self.agent.unwrap_or_default();
        let path = format!("/v1/agents/{}", encode(&id));
        let agent = client::request(&hub, Method::GET, &path, None).await;
        if let Err(error) = &agent
            && error.code() == Some("not_found")
            && let Some(task) = TaskId::parse(&id)
        {
            return Ok(task::show(&hub, &self.client, &task.to_string())
                .await?
                .into());
        }
        let mut agent = agent.about(ErrorSubject::Agent)?;
        let (remote, peer) = (remote(&hub, &agent).await, peer(&hub, &agent).await);
        let waiting = waiting(&hub, &id).await;
        if self.client.json {
            if let Some(agent) = agent.as_object_mut() {
                agent.extend(remote.map(|remote| ("remote".to_owned(), remote)));
                agent.extend(peer.map(|peer| ("peer".to_owned(), peer)));
                if !waiting.is_empty() {
                    agent.insert("waiting".to_owned(), waiting.into());
                }
            }
            output::json(&agent)?;
        } else {
            let mut facts = facts(&agent);
            facts.extend(remote.iter().flat_map(remote_facts));
            facts.extend(peer.iter().flat_map(peer_facts));
            let call = |call: &Value| {
                let (id, caller) = (text(call, "id"), text(call, "caller"));
                ("waits for you", format!("call {id} of {caller}"))
            };
            facts.extend(waiting.iter().map(call));
            output::facts(&facts)?;
            for call in &waiting {
                task::decisions(call, &self.client);
            }
        }
        Ok(ExitKind::Ok.into())
    }
}

/// Returns the agent's calls that wait for a decision of this user.
async fn waiting(hub: &Hub, agent: &str) -> Vec<Value> {
    let path = format!("/v1/calls?agent={}", encode(agent));
    let calls = client::request(hub, Method::GET, &path, None).await;
    items(&calls.unwrap_or_default(), "waiting").to_vec()
}

/// Returns how the hub dials an agent; `None` if it does not, or if this user may not know.
pub(super) async fn remote(hub: &Hub, agent: &Value) -> Option<Value> {
    let path = format!("/v1/remotes/{}", encode(text(agent, "id")));
    client::request(hub, Method::GET, &path, None).await.ok()
}

/// Returns the peer that brought an agent; `None` if there is none, or if this user may not know.
pub(super) async fn peer(hub: &Hub, agent: &Value) -> Option<Value> {
    let peer = text(agent, "endpoint").strip_prefix("/p2p/")?;
    if agent["door"] != "p2p" {
        return None;
    }
    let path = format!("/v1/peers/{}", encode(peer));
    client::request(hub, Method::GET, &path, None).await.ok()
}

/// Returns the facts about a peer.
pub(super) fn peer_facts(peer: &Value) -> Vec<(&'static str, String)> {
    let list = |key: &str| {
        let list: Vec<_> = items(peer, key).iter().map(plain).collect();
        list.join(", ")
    };
    let is = |key: &str| {
        let word = if peer[key] == true { "yes" } else { "no" };
        word.to_owned()
    };
    let mut facts = vec![
        ("peer", text(peer, "id").to_owned()),
        ("called", text(peer, "name").to_owned()),
        ("connection", text(peer, "state").to_owned()),
        ("addresses", list("addresses")),
        ("relayed", is("relayed")),
        ("program", text(peer, "program").to_owned()),
        ("agents", list("agents")),
        ("kept", is("kept")),
        ("may hand off", is("allowed")),
    ];
    if peer["blocked"] == true {
        facts.push(("blocked", is("blocked")));
    }
    if peer["error"].is_object() {
        let error = &peer["error"];
        let error = format!("{} ({})", text(error, "message"), time(error, "at"));
        facts.push(("last error", error));
    }
    facts
}

/// Returns the facts about a remote that the hub dials: those of every protocol, and those of an A2A server's
/// card.
pub(super) fn remote_facts(remote: &Value) -> Vec<(&'static str, String)> {
    let card = &remote["card"];
    let since = Some(time(remote, "since")).filter(|since| !since.is_empty());
    let since = since.map(|since| format!(" since {since}"));
    let state = format!("{}{}", text(remote, "state"), since.unwrap_or_default());
    let mut facts = vec![("dialled", state), ("url", text(remote, "url").to_owned())];
    if card.is_object() {
        let streams = if card["streams"] == true {
            "streaming"
        } else {
            "no streaming"
        };
        let (version, binding) = (text(card, "version"), text(card, "binding"));
        facts.push(("called at", text(card, "called_at").to_owned()));
        facts.push(("speaks", format!("A2A {version}, {binding}, {streams}")));
        facts.push(("signature", signature(&card["signature"])));
        let warnings = card["warnings"].as_array().into_iter().flatten();
        facts.extend(warnings.map(|warning| ("warning", plain(warning))));
    }
    if remote["error"].is_object() {
        let error = &remote["error"];
        let error = format!("{} ({})", text(error, "message"), time(error, "at"));
        facts.push(("last error", error));
    }
    facts
}

fn signature(signature: &Value) -> String {
    let of = |key: &str| text(signature, key);
    match of("state") {
        "none" => "none".to_owned(),
        "verified" => format!("valid, by key {:?} of {}", of("kid"), of("jku")),
        "bad" => format!("WRONG: {}", of("why")),
        state => format!("{state}: {}", of("why")),
    }
}

fn facts(agent: &Value) -> Vec<(&'static str, String)> {
    let of = |key: &str| text(agent, key).to_owned();
    let state = format!("{} since {}", text(agent, "state"), time(agent, "since"));
    let mut facts = vec![
        ("id", of("id")),
        ("name", of("name")),
        ("description", of("description")),
        ("type", of("agent_type")),
        ("protocol", of("door")),
        ("state", state),
        ("owner", of("owner")),
        ("registered", time(agent, "registered_at")),
        ("skills", skills(agent)),
        (
            "calls",
            agent["open_calls"].as_u64().unwrap_or(0).to_string(),
        ),
        ("endpoint", of("endpoint")),
        ("shared", shared(agent)),
    ];
    if let Some(settings) = agent["settings"].as_object() {
        let set: Vec<_> = settings
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect();
        facts.push(("settings", set.join(" ")));
    }
    facts
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns with whom an agent is shared; only the owner sees the names.
pub(super) fn shared(agent: &Value) -> String {
    match &agent["share"] {
        Value::String(who) => format!("with {who}"),
        Value::Object(share) => {
            let with = share.get("with").and_then(Value::as_array);
            let with: Vec<_> = with.into_iter().flatten().map(plain).collect();
            format!("with {}", with.join(", "))
        }
        _ if agent["shared"] == true => "yes".to_owned(),
        _ => "no".to_owned(),
    }
}
