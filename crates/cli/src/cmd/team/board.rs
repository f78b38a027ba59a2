//! `jackfield team task`: the board of a team.

use anyhow::Result;
use clap::{Args, Subcommand};
use http::Method;
use jackfield_sdk::{Error, encode};
use serde_json::{Value, json};

use super::path;
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, WithErrorSubject},
    output::{self, Table, items, text},
    shell,
};

/// Statuses of a task on the board.
const STATUSES: [&str; 6] = [
    "not_started",
    "queued",
    "in_progress",
    "completed",
    "blocked",
    "failed",
];

/// Manage the board of a team: tasks, assignees, dependencies.
#[derive(Debug, Args)]
pub(super) struct Board {
    #[command(subcommand)]
    verb: BoardCommand,
}

#[derive(Debug, Subcommand)]
enum BoardCommand {
    /// List the tasks of a team
    Ls(Ls),
    /// Add a task to the board
    Add(Add),
    /// Set the status of a task
    Set(Set),
}

impl Board {
    pub(super) async fn run(self) -> Result<()> {
        match self.verb {
            BoardCommand::Ls(ls) => ls.run().await,
            BoardCommand::Add(add) => add.run().await,
            BoardCommand::Set(set) => set.run().await,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team task ls shop")]
struct Ls {
    /// List the board of the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    #[command(flatten)]
    client: Client,
}

impl Ls {
    async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/tasks", path(&self.team));
        let answer = client::get(&hub, &path, ErrorSubject::Team).await?;
        if self.client.json {
            return Ok(output::json(&answer)?);
        }
        let tasks = items(&answer, "tasks");
        if tasks.is_empty() {
            output::print_message("the board is empty; jackfield team task add adds a task");
        }
        table(tasks).print()
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield team task add shop --name build --assignee bob --after design"
)]
struct Add {
    /// Add to the board of the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// Name the task
    #[arg(long)]
    name: String,
    /// Assign the task to this member
    #[arg(long, value_name = "MEMBER")]
    assignee: String,
    /// Describe the task
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Make the task depend on this one, by name or id; may be repeated
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
        let answer = client::request(&hub, Method::POST, &path, Some(&body))
            .await
            .about(ErrorSubject::Team)?;
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
    /// Change the board of the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// Change the task with this name or id
    task: String,
    /// Set this status
    #[arg(value_parser = STATUSES)]
    status: String,
    /// Record a file as a result, with a summary; may be repeated
    #[arg(long, value_name = "PATH=SUMMARY", value_parser = deliverable)]
    deliver: Vec<(String, String)>,
    /// Make the change as this member
    #[arg(long = "as", value_name = "MEMBER")]
    member: Option<String>,
    #[command(flatten)]
    client: Client,
}

/// Parses `PATH=SUMMARY`, or a path alone. The summary begins after the first equals sign.
fn deliverable(text: &str) -> Result<(String, String), String> {
    let (path, summary) = text.split_once('=').unwrap_or((text, ""));
    if path.is_empty() {
        return Err("write PATH=SUMMARY".to_owned());
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
        let task = client::request(&hub, Method::PATCH, &path, Some(&body)).await;
        let task = task.map_err(|error| match error {
            Error::Refused { ref code, .. } if code == "not_found" => CliError {
                next: Some(format!(
                    "{} shows the board",
                    shell::command("team task ls", &[&self.team], "", "")
                )),
                ..CliError::from_hub(&error, ErrorSubject::Team)
            },
            error => CliError::from_hub(&error, ErrorSubject::Team),
        })?;
        if self.client.json {
            return Ok(output::json(&task)?);
        }
        table(&[task]).print()
    }
}

/// Formats tasks as a table. Dependencies are shown by name, if the task is in the table.
pub(super) fn table(tasks: &[Value]) -> Table {
    let mut table = Table::new([
        "id",
        "name",
        "status",
        "assignee",
        "after",
        "files",
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
