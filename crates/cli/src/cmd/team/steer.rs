//! `jackfield team say`, `stop`, `approve` and `deny`: messages and decisions for a working team.

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::Error;
use serde_json::json;

use super::path;
use crate::{
    client::{self, Client},
    cmd::call::message,
    exit::{self, ErrorSubject, WithErrorSubject},
    output::{self, text},
    shell,
};

#[derive(Debug, Args)]
#[command(
    after_long_help = "The hub stores the call as a task; jackfield task wait prints its answer, and jackfield watch TEAM shows it live.\n\
                       If the member waits for an answer, the text is that answer, and no call is made.\n\n\
                       Examples:\n  jackfield team say shop \"close at six\"\n  jackfield team say shop --to backend/dba \"add an index\""
)]
pub(super) struct Say {
    /// Send to the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// Send this text; - or no text reads standard input
    text: Option<String>,
    /// Send to this member instead of the coordinator: a name, or a route key such as backend/dba
    #[arg(long, value_name = "MEMBER")]
    to: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Say {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let message = message::read(self.text.as_deref(), &[])?;
        let path = format!("{}/messages", path(&self.team));
        let mut body = json!({ "content": message.text });
        if let Some(target) = &self.to {
            body["target"] = json!(target);
        }
        let started = client::request(&hub, Method::POST, &path, Some(&body))
            .await
            .about(ErrorSubject::Team)?;
        if self.client.json {
            return Ok(output::json(&started)?);
        }
        if started["answered"] == true {
            let who = self.to.as_ref().unwrap_or(&self.team);
            output::print_message(&format!("{who} has the answer"));
            return Ok(());
        }
        let (task, team, flags) = (text(&started, "task"), &self.team, self.client.flags());
        output::line(&output::clean(task))?;
        output::print_message(&format!(
            "read the answer with: {}\nwatch the team with: {}",
            shell::command("task wait", &[task], "", &flags),
            shell::command("watch", &[team], "", &flags)
        ));
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield team stop shop\n  jackfield team stop shop writer"
)]
pub(super) struct Stop {
    /// Stop the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// Stop only this member: a name, or a route key such as backend/dba
    member: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Stop {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/stop", path(&self.team));
        let mut body = json!({});
        if let Some(member) = self.member {
            body["target"] = json!(member);
        }
        let answer = client::request(&hub, Method::POST, &path, Some(&body))
            .await
            .about(ErrorSubject::Team)?;
        if self.client.json {
            return Ok(output::json(&answer)?);
        }
        output::print_message(&match answer["stopped"].as_u64() {
            Some(0) | None => "nothing was running".to_owned(),
            Some(1) => "one call is stopped".to_owned(),
            Some(count) => format!("{count} calls are stopped"),
        });
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield team approve shop\n  jackfield team approve shop call_1 --member backend/dba"
)]
pub(super) struct Approve {
    #[command(flatten)]
    decision: DecisionArgs,
}

impl Approve {
    pub(super) async fn run(self) -> Result<()> {
        self.decision.run(true).await
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield team deny shop call_1 --reason \"not on a Friday\""
)]
pub(super) struct Deny {
    #[command(flatten)]
    decision: DecisionArgs,
}

impl Deny {
    pub(super) async fn run(self) -> Result<()> {
        self.decision.run(false).await
    }
}

#[derive(Debug, Args)]
struct DecisionArgs {
    /// Decide for the team with this id
    #[arg(value_parser = client::agent_id)]
    team: String,
    /// Decide on this request, by its id in jackfield watch TEAM; not needed if only one is open
    invocation: Option<String>,
    /// Decide on the request of this member: a name, or a route key such as backend/dba
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Give a reason, or the answer to a question
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl DecisionArgs {
    async fn run(self, approve: bool) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = format!("{}/decisions", path(&self.team));
        let mut body = json!({ "approve": approve });
        if let Some(invocation) = &self.invocation {
            body["invocation_id"] = json!(invocation);
        }
        if let Some(member) = &self.member {
            body["target"] = json!(member);
        }
        if let Some(reason) = &self.reason {
            body["reason"] = json!(reason);
        }
        let told = client::request(&hub, Method::POST, &path, Some(&body)).await;
        told.map(drop).map_err(|error| match error {
            Error::Refused { ref code, .. } if code == "not_found" => exit::CliError {
                next: Some(format!(
                    "{} shows what waits for an answer",
                    shell::command("watch", &[&self.team], "", "")
                )),
                ..exit::CliError::from_hub(&error, ErrorSubject::Team)
            },
            error => exit::CliError::from_hub(&error, ErrorSubject::Team),
        })?;
        if self.client.json {
            let decided = json!({"invocation_id": self.invocation, "approved": approve});
            return Ok(output::json(&decided)?);
        }
        let verdict = if approve { "approved" } else { "denied" };
        let what = self.invocation.as_deref().unwrap_or("it");
        output::print_message(&format!("{what} is {verdict}"));
        Ok(())
    }
}
