//! `jackfield task ls` and `show`.

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::{Hub, encode};
use serde_json::{Value, json};

use super::{task_id, undelivered};
use crate::{
    client::{self, Client},
    exit::{ErrorSubject, ExitKind},
    output::{self, Table, clean_lines, text, time},
    reply::asks,
};

/// Number of tasks per response of the hub.
const PAGE: usize = 200;

/// Maximum number of parent calls to follow: no chain is longer.
const MOST_PARENTS: usize = 8;

/// States of a task.
const STATES: [&str; 7] = [
    "submitted",
    "working",
    "input_required",
    "completed",
    "failed",
    "cancelled",
    "rejected",
];

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield task ls --agent worker --state working\n  jackfield task ls --at worker"
)]
pub(super) struct Ls {
    /// List only tasks for this agent
    #[arg(long, value_name = "AGENT", value_parser = client::agent_id)]
    agent: Option<String>,
    /// List only tasks in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,
    /// List all open calls at this agent of yours, from any caller; jackfield task cancel ends one
    #[arg(long, value_name = "AGENT", value_parser = client::agent_id, conflicts_with_all = ["agent", "state", "dead"])]
    at: Option<String>,
    /// List tasks whose callback could not be delivered, with the reason
    #[arg(long, conflicts_with_all = ["agent", "state"])]
    dead: bool,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    client: Client,
}

impl Ls {
    pub(super) async fn run(self) -> Result<ExitKind> {
        let limit = self.limit as usize;
        if self.dead {
            return undelivered::list(&self.client, limit).await;
        }
        let hub = self.client.connect().await?;
        if let Some(agent) = &self.at {
            return open_at(&hub, &self.client, agent, limit).await;
        }
        let mut filter = String::new();
        if let Some(agent) = &self.agent {
            filter += &format!("&agent={}", encode(agent));
        }
        if let Some(state) = &self.state {
            filter += &format!("&state={}", encode(state));
        }
        let (mut waiting, mut tasks) = (Vec::new(), Vec::new());
        let mut before = String::new();
        let more = loop {
            let page = PAGE.min(limit - tasks.len());
            let path = format!("/v1/calls?limit={page}{filter}{before}");
            let mut answer = client::get(&hub, &path, ErrorSubject::Task).await?;
            for (key, all) in [("waiting", &mut waiting), ("tasks", &mut tasks)] {
                if let Value::Array(some) = answer[key].take() {
                    all.extend(some);
                }
            }
            match answer["next"].as_str() {
                Some(next) if tasks.len() < limit => before = format!("&before={}", encode(next)),
                next => break next.is_some(),
            }
        };
        // Waiting calls have no state to filter by.
        waiting.retain(|_| self.state.is_none());
        if self.client.json {
            output::json(&json!({ "waiting": waiting, "tasks": tasks }))?;
            return Ok(ExitKind::Ok);
        }
        if tasks.is_empty() && waiting.is_empty() {
            output::print_message(
                "no matching tasks; jackfield call AGENT TEXT --detach starts one",
            );
        }
        let is_listed = |call: &Value| tasks.iter().any(|task| task["id"] == call["task"]);
        let others = waiting.iter().filter(|call| !is_listed(call));
        table(others.chain(&tasks)).print()?;
        for call in &waiting {
            decisions(call, &self.client);
        }
        if more {
            output::print_message(&format!("there are more than {limit}; --limit shows more"));
        }
        Ok(ExitKind::Ok)
    }
}

/// Lists the open calls at an agent of this user.
async fn open_at(hub: &Hub, client: &Client, agent: &str, limit: usize) -> Result<ExitKind> {
    let path = format!("/v1/agents/{}/calls", encode(agent));
    let mut answer = client::get(hub, &path, ErrorSubject::Agent).await?;
    if client.json {
        output::json(&answer)?;
        return Ok(ExitKind::Ok);
    }
    let Value::Array(calls) = answer["calls"].take() else {
        return Ok(ExitKind::Ok);
    };
    if calls.is_empty() {
        output::print_message(&format!("no open calls at {agent}"));
    }
    let mut table = Table::new(["id", "agent", "state", "caller", "since"]);
    for call in calls.iter().take(limit) {
        let of = |key: &str| text(call, key).to_owned();
        table.row([
            of("id"),
            of("agent"),
            of("state"),
            of("caller"),
            time(call, "since"),
        ]);
    }
    table.print()?;
    if calls.len() > limit {
        output::print_message(&format!("there are more than {limit}; --limit shows more"));
    }
    Ok(ExitKind::Ok)
}

/// Prints the open questions of a call to this user, with the commands that answer them.
pub(crate) fn decisions(call: &Value, client: &Client) {
    let (id, caller) = (text(call, "id"), clean_lines(text(call, "caller")));
    for ask in output::items(call, "asks") {
        output::print_message(&format!(
            "{} asks in a call of {caller}: {}\n{}",
            output::clean(text(call, "agent")),
            asks::one_line(ask),
            asks::command(id, ask, &client.flags())
        ));
    }
}

fn table<'a>(tasks: impl Iterator<Item = &'a Value>) -> Table {
    let mut table = Table::new(["id", "agent", "state", "caller", "updated"]);
    for task in tasks {
        let of = |key: &str| text(task, key).to_owned();
        table.row([
            of("id"),
            of("agent"),
            state(task),
            of("caller"),
            time(task, "updated_at"),
        ]);
    }
    table
}

/// Returns the state of a task. A pending approval is no separate state, but is shown because people want to
/// know. For calls of other users the hub reveals nothing else.
fn state(task: &Value) -> String {
    let state = text(task, "state");
    match output::items(task, "approvals") {
        [] if state.is_empty() => "waits for you".to_owned(),
        [] => state.to_owned(),
        [approval, ..] => format!("{state}, waits for {} to approve", text(approval, "owner")),
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield task show 0199c2f0-1111-7aaa-8bbb-123456789abc")]
pub(super) struct Show {
    /// Show the task with this id, or id ending, or the open call with this id
    #[arg(value_parser = task_id::task)]
    task: String,
    #[command(flatten)]
    client: Client,
}

impl Show {
    pub(super) async fn run(self) -> Result<ExitKind> {
        let hub = self.client.connect().await?;
        let task = task_id::find(&hub, &self.task).await?;
        show(&hub, &self.client, &task).await
    }
}

/// Prints a task, or an open call.
pub(crate) async fn show(hub: &Hub, client: &Client, id: &str) -> Result<ExitKind> {
    let path = format!("/v1/calls/{id}");
    let task = client::get(hub, &path, ErrorSubject::Task).await?;
    if client.json {
        output::json(&task)?;
        return Ok(ExitKind::Ok);
    }
    let mut facts = facts(&task);
    facts.extend(parents(hub, &task).await);
    output::facts(&facts)?;
    let open = output::items(&task, "asks");
    for ask in open {
        output::print_message(&format!(
            "the agent asks: {}\n{}",
            asks::one_line(ask),
            asks::command(id, ask, &client.flags())
        ));
    }
    for approval in output::items(&task, "approvals") {
        if open.iter().all(|open| open["id"] != approval["ask_id"]) {
            let (what, how) = asks::for_other_owner(id, approval);
            output::print_message(&format!("{what}\n{how}"));
        }
    }
    history(&task)?;
    Ok(ExitKind::Ok)
}

fn facts(task: &Value) -> Vec<(&'static str, String)> {
    let of = |key: &str| text(task, key).to_owned();
    let failure = &task["failure"];
    let why = if failure.is_null() {
        String::new()
    } else {
        format!("{} ({})", text(failure, "message"), text(failure, "error"))
    };
    vec![
        ("id", of("id")),
        ("agent", of("agent")),
        ("state", state(task)),
        ("failure", why),
        ("caller", of("caller")),
        ("protocol", of("door")),
        ("session", of("session")),
        ("created", time(task, "created_at")),
        ("updated", time(task, "updated_at")),
        ("waits until", time(task, "wait_until")),
    ]
}

/// Returns the parent calls, nearest first, as far as they are known and visible.
async fn parents(hub: &Hub, task: &Value) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut next = text(task, "parent").to_owned();
    while !next.is_empty() && facts.len() < MOST_PARENTS {
        let path = format!("/v1/calls/{}", encode(&next));
        let parent = client::request(hub, Method::GET, &path, None).await;
        let parent = parent.unwrap_or_default();
        let fact = match text(&parent, "agent") {
            "" => format!("call {next}"),
            agent => format!("{agent}, call {next}"),
        };
        facts.push(("made for", fact));
        next = text(&parent, "parent").to_owned();
    }
    facts
}

/// Prints the messages in order, after an empty line.
fn history(task: &Value) -> Result<()> {
    let said = task["history"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if !said.is_empty() {
        output::line("")?;
    }
    for item in said {
        let parts = item["parts"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let words: Vec<_> = parts.iter().map(part).collect();
        // Indented, so that no line of an agent looks like ours.
        let words = clean_lines(&words.join("\n")).replace('\n', "\n  ");
        // An approval is the owner's, not the caller's, and has text only if denied.
        output::line(&match item["approved"].as_bool() {
            Some(true) => "(approved)".to_owned(),
            Some(false) if words.is_empty() => "(denied)".to_owned(),
            Some(false) => format!("(denied: {words})"),
            None => format!("{}: {words}", text(item, "role")),
        })?;
    }
    if task["truncated"] == true {
        output::print_message("(some parts are left out: too large, or no longer stored)");
    }
    Ok(())
}

fn part(part: &Value) -> String {
    if let Some(words) = part["text"].as_str() {
        return words.to_owned();
    }
    let file = &part["file"];
    if file.is_null() {
        return part["data"].to_string();
    }
    format!("[file {} {}]", text(file, "name"), text(file, "uri"))
}
