//! `jackfield team ls` and `show`.

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::{board, path};
use crate::{
    client::{self, Client},
    exit::ErrorSubject,
    output::{self, Table, items, text, time},
};

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team ls")]
pub(super) struct Ls {
    #[command(flatten)]
    client: Client,
}

impl Ls {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let answer = client::get(&hub, "/v1/teams", ErrorSubject::Team).await?;
        if self.client.json {
            return Ok(output::json(&answer)?);
        }
        let teams = items(&answer, "teams");
        if teams.is_empty() {
            output::print_message(
                "there are no teams; jackfield team create ID --member AGENT --member AGENT creates one",
            );
        }
        let mut table = Table::new(["id", "name", "state", "status", "agents", "owner"]);
        for team in teams {
            let of = |key: &str| text(team, key).to_owned();
            let agents = items(team, "agents");
            let online = agents.iter().filter(|agent| agent["online"] == true);
            table.row([
                of("id"),
                of("name"),
                presence(team).to_owned(),
                of("status"),
                format!("{} of {} online", online.count(), agents.len()),
                of("owner"),
            ]);
        }
        table.print()
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team show shop")]
pub(super) struct Show {
    /// Show the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    #[command(flatten)]
    client: Client,
}

impl Show {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = path(&self.team);
        let mut team = client::get(&hub, &path, ErrorSubject::Team).await?;
        let mut answer = client::get(&hub, &format!("{path}/tasks"), ErrorSubject::Team).await?;
        if self.client.json {
            team["tasks"] = answer["tasks"].take();
            return Ok(output::json(&team)?);
        }
        output::facts(&facts(&team))?;
        output::line("")?;
        members(&team).print()?;
        let tasks = items(&answer, "tasks");
        if !tasks.is_empty() {
            output::line("")?;
        }
        board::table(tasks).print()
    }
}

/// Prints a team that was created or changed.
pub(super) fn print(team: &Value, is_json: bool) -> Result<()> {
    if is_json {
        return Ok(output::json(team)?);
    }
    output::facts(&facts(team))?;
    output::line("")?;
    members(team).print()
}

fn presence(thing: &Value) -> &'static str {
    if thing["online"] == true {
        "online"
    } else {
        "offline"
    }
}

fn facts(team: &Value) -> Vec<(&'static str, String)> {
    let of = |key: &str| text(team, key).to_owned();
    let run = &team["run"];
    let run = if run.is_object() {
        let (id, events) = (text(run, "id"), &run["sequence"]);
        format!("{id} since {}, {events} events", time(run, "started_at"))
    } else {
        String::new()
    };
    vec![
        ("id", of("id")),
        ("name", of("name")),
        ("description", of("description")),
        ("state", presence(team).to_owned()),
        ("status", of("status")),
        ("run", run),
        ("coordinator", of("coordinator")),
        ("owner", of("owner")),
        ("created", time(team, "created_at")),
        ("updated", time(team, "updated_at")),
    ]
}

/// Returns the tree of members: a row for each sub-team, then its agents by their route keys.
fn members(team: &Value) -> Table {
    let mut table = Table::new(["member", "is", "state", "status"]);
    let agents = items(team, "agents");
    for member in items(team, "members") {
        let name = text(member, "name");
        if let Some(id) = member["team"].as_str() {
            table.row([
                format!("{name}/"),
                format!("team {id}"),
                String::new(),
                String::new(),
            ]);
            let inside = format!("{name}/");
            let below = |agent: &&Value| text(agent, "route_key").starts_with(&inside);
            for agent in agents.iter().filter(below) {
                table.row(agent_row(agent));
            }
            continue;
        }
        let told = agents.iter().find(|agent| text(agent, "route_key") == name);
        // A member stays listed even if this user may not see the agent.
        let unseen = json!({"route_key": name, "agent": member["agent"]});
        table.row(agent_row(told.unwrap_or(&unseen)));
    }
    table
}

fn agent_row(agent: &Value) -> [String; 4] {
    [
        text(agent, "route_key").to_owned(),
        text(agent, "agent").to_owned(),
        presence(agent).to_owned(),
        status(agent),
    ]
}

/// Returns the status of an agent. An offline agent shows its last status, which continues when the agent
/// returns.
fn status(agent: &Value) -> String {
    let status = text(agent, "status");
    let is_at_rest = matches!(status, "" | "uninitialized" | "idle" | "error");
    if agent["online"] != false || is_at_rest {
        return status.to_owned();
    }
    format!("offline; was {status}")
}
