//! `jackfield ls`: lists agents.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::{Hub, encode};
use serde_json::Value;

use crate::{
    client::{self, Client},
    exit::{ErrorSubject, ExitKind},
    output::{self, Table, text},
    shell,
};

/// List the agents that you may see.
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield ls --online --skill translate")]
pub(crate) struct Ls {
    /// List only agents with this skill; may be repeated
    #[arg(long, value_name = "SKILL")]
    skill: Vec<String>,
    /// List only agents that are online
    #[arg(long)]
    online: bool,
    #[command(flatten)]
    client: Client,
}

impl Ls {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let mut query: Vec<String> = self
            .skill
            .iter()
            .map(|skill| format!("skill={}", encode(skill)))
            .collect();
        if self.online {
            query.push("online=true".to_owned());
        }
        let path = format!("/v1/agents?{}", query.join("&"));
        let answer = client::get(&hub, &path, ErrorSubject::Agent).await?;
        if self.client.json {
            output::json(&answer)?;
            return Ok(ExitKind::Ok.into());
        }
        let agents = answer["agents"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if agents.is_empty() {
            self.nobody(&hub).await;
        }
        table(agents).print()?;
        Ok(ExitKind::Ok.into())
    }

    async fn nobody(&self, hub: &Hub) {
        if self.online || !self.skill.is_empty() {
            output::print_message("no matching agents; jackfield ls lists all of them");
            return;
        }
        // Only an admin sees all agents. If the hub does not tell who we are, print the general advice.
        let me = client::request(hub, Method::GET, "/v1/whoami", None).await;
        let me = me.ok().filter(|me| me["admin"] == false);
        if let Some(owner) = me.as_ref().map(|me| text(me, "owner")) {
            let (owner, typed) = (output::clean(owner), shell::word(owner));
            output::print_message(&format!(
                "{owner} has no agent, and none is shared with {owner}. jackfield connect connects an agent on this machine;\n\
                 the owner of another agent shares it with: jackfield share AGENT --with {typed}"
            ));
            return;
        }
        let socket = hub.address().base().replacen("http", "ws", 1);
        output::print_message(&format!(
            "there are no agents yet. jackfield connect connects an agent on this machine, jackfield p2p sidecar one behind HTTP,\n\
             jackfield add adds an A2A server or a peer; or connect an agent to {socket}/ws (Agora protocol),\n\
             or in Rust: jackfield_sdk::Agent::new(\"me\").on_message(…).run()"
        ));
    }
}

fn table(agents: &[Value]) -> Table {
    // A single owner is the usual case and needs no column. Programs always get the same columns.
    let has_owners = !io::stdout().is_terminal()
        || agents
            .windows(2)
            .any(|pair| pair[0]["owner"] != pair[1]["owner"]);
    let mut header = vec!["id", "name", "protocol", "state", "skills", "calls"];
    if has_owners {
        header.push("owner");
    }
    let mut table = Table::new(header);
    for agent in agents {
        let mut row = vec![
            text(agent, "id").to_owned(),
            text(agent, "name").to_owned(),
            text(agent, "door").to_owned(),
            text(agent, "state").to_owned(),
            skills(agent),
            agent["open_calls"].as_u64().unwrap_or(0).to_string(),
        ];
        if has_owners {
            row.push(text(agent, "owner").to_owned());
        }
        table.row(row);
    }
    table
}

/// Returns the ids of an agent's skills.
pub(super) fn skills(agent: &Value) -> String {
    let skills = agent["skills"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let ids: Vec<_> = skills.iter().map(|skill| text(skill, "id")).collect();
    ids.join(", ")
}
