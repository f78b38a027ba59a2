//! `jackfield team task`: the board of a team.

use anyhow::Result;
use clap::{Args, Subcommand};
use http::Method;
use jackfield_sdk::{Error, encode};
use serde_json::{Value, json};

use super::path;
use crate::{
    client::{self, Client},
    exit::{About, Stop, WhatAbout},
    output::{self, Table, items, text},
    shell,
};

/// Where a task of a board can stand.
const STATUSES: [&str; 6] = [
    "not_started",
    "queued",
    "in_progress",
    "completed",
    "blocked",
    "failed",
];

/// See and change the board of a team: what is to do, who does it, what it waits for.
#[derive(Debug, Args)]
pub(super) struct Board {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// The tasks of a team
    Ls(Ls),
    /// Put a task on the board
    Add(Add),
    /// Say where a task stands
    Set(Set),
}

impl Board {
    pub(super) async fn run(self) -> Result<()> {
        match self.verb {
            Verb::Ls(ls) => ls.run().await,
            Verb::Add(add) => add.run().await,
            Verb::Set(set) => set.run().await,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team task ls shop")]
struct Ls {
    /// The team's id
    #[arg(value_parser = client::agent_id)]
    team: String,
    #[command(flatten)]
    client: Client,
}

impl Ls {
    async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/tasks", path(&self.team));
        let answer = client::get(&hub, &path, About::Team).await?;
        if self.client.json {
            return Ok(output::json(&answer)?);
        }
        let tasks = items(&answer, "tasks");
        if tasks.is_empty() {
            output::chat("the board is empty; jackfield team task add puts something on it");
        }
        table(tasks).print()
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield team task add shop --name build --assignee bob --after design"
)]
struct Add {
    /// The team's id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// What the task is called
    #[arg(long)]
    name: String,
    /// The member that does it
    #[arg(long, value_name = "MEMBER")]
    assignee: String,
    /// What is to do
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A task that comes before it, by name or id; may be repeated
    #[arg(long, value_name = "TASK")]
    after: Vec<String>,
    #[command(flatten)]
    client: Client,
}

impl Add {
    async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/tasks", path(&self.team));
        let mut task = json!({"task_name": self.name, "assignee_name": self.assignee});
        if let Some(description) = self.description {
            task["description"] = json!(description);
        }
        if !self.after.is_empty() {
            task["dependencies"] = json!(self.after);
        }
        let body = json!({ "tasks": [task] });
        let answer = client::ask(&hub, Method::POST, &path, Some(&body))
            .await
            .about(About::Team)?;
        if self.client.json {
            return Ok(output::json(&answer)?);
        }
        table(items(&answer, "tasks")).print()
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield team task set shop build completed --deliver dist/app.js=\"the program\""
)]
struct Set {
    /// The team's id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// The task's name or id
    task: String,
    /// Where it stands
    #[arg(value_parser = STATUSES)]
    status: String,
    /// A file that it gave, and what that is; may be repeated
    #[arg(long, value_name = "PATH=SUMMARY", value_parser = deliverable)]
    deliver: Vec<(String, String)>,
    /// The member that says so
    #[arg(long = "as", value_name = "MEMBER")]
    member: Option<String>,
    #[command(flatten)]
    client: Client,
}

/// `PATH=SUMMARY`, or a path that says enough. The summary begins after the first equals sign.
fn deliverable(text: &str) -> Result<(String, String), String> {
    let (path, summary) = text.split_once('=').unwrap_or((text, ""));
    if path.is_empty() {
        return Err("say PATH=SUMMARY".to_owned());
    }
    Ok((path.to_owned(), summary.to_owned()))
}

impl Set {
    async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/tasks/{}", path(&self.team), encode(&self.task));
        let mut body = json!({ "status": self.status });
        if !self.deliver.is_empty() {
            let files = self.deliver.iter();
            let files = files.map(|(path, summary)| json!({"file_path": path, "summary": summary}));
            body["deliverables"] = files.collect();
        }
        if let Some(member) = self.member {
            body["agent_name"] = json!(member);
        }
        let task = client::ask(&hub, Method::PATCH, &path, Some(&body)).await;
        let task = task.map_err(|error| match error {
            Error::Refused { ref code, .. } if code == "not_found" => Stop {
                next: Some(format!(
                    "{} shows the board",
                    shell::command("team task ls", &[&self.team], "", "")
                )),
                ..Stop::from_hub(&error, About::Team)
            },
            error => Stop::from_hub(&error, About::Team),
        })?;
        if self.client.json {
            return Ok(output::json(&task)?);
        }
        table(&[task]).print()
    }
}

/// Tasks as a table; what a task waits for by the names that the table has.
pub(super) fn table(tasks: &[Value]) -> Table {
    let mut table = Table::new([
        "id",
        "name",
        "status",
        "assignee",
        "after",
        "gave",
        "description",
    ]);
    for task in tasks {
        let of = |key: &str| text(task, key).to_owned();
        let name = |id: &Value| {
            let named = tasks.iter().find(|task| task["task_id"] == *id);
            let name = named.map_or(id, |task| &task["task_name"]);
            name.as_str().unwrap_or_default().to_owned()
        };
        let after: Vec<_> = items(task, "dependencies").iter().map(name).collect();
        let gave = items(task, "file_deliverables").iter();
        let gave: Vec<_> = gave.map(|file| text(file, "file_path")).collect();
        table.row([
            of("task_id"),
            of("task_name"),
            of("status"),
            of("assignee_name"),
            after.join(", "),
            gave.join(", "),
            of("description"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_begins_after_the_first_equals_sign() {
        let pair = |path: &str, summary: &str| Ok((path.to_owned(), summary.to_owned()));
        assert_eq!(deliverable("a.md=x = y"), pair("a.md", "x = y"));
        assert_eq!(deliverable("a.md"), pair("a.md", ""));
        assert!(deliverable("=x").is_err());
    }
}
