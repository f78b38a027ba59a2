//! `jackfield show`: all that the hub knows of one agent.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jackfield_sdk::encode;
use serde_json::Value;

use super::ls::skills;
use crate::{
    client::{self, Client},
    exit::{About, Code},
    output::{self, text, time},
};

/// All that the hub knows of one agent.
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield show echo")]
pub(crate) struct Show {
    /// The agent's id
    #[arg(value_parser = client::agent_id)]
    agent: String,
    #[command(flatten)]
    client: Client,
}

impl Show {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect()?;
        let path = format!("/v1/agents/{}", encode(&self.agent));
        let agent = client::get(&hub, &path, About::Agent).await?;
        if self.client.json {
            output::json(&agent)?;
        } else {
            output::facts(&facts(&agent))?;
        }
        Ok(Code::Ok.into())
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
        ("door", of("door")),
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

/// With whom an agent is shared; only its owner is told with whom exactly.
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
