//! Callbacks that could not be delivered: `jackfield task ls --dead` lists them, `jackfield task resend`
//! sends one again.

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::Error;
use serde_json::{Value, json};

use super::task_id;
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind},
    output::{self, Table, text, time},
};

/// Maximum number of callbacks per response of the hub.
const MOST: usize = 200;

/// Lists the tasks whose callback could not be delivered.
pub(super) async fn list(client: &Client, limit: usize) -> Result<ExitKind> {
    let hub = client.connect().await?;
    let path = format!("/v1/callbacks?dead=true&limit={}", limit.min(MOST));
    let answer = client::get(&hub, &path, ErrorSubject::Task).await?;
    if client.json {
        output::json(&answer)?;
        return Ok(ExitKind::Ok);
    }
    let callbacks = answer["callbacks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if callbacks.is_empty() {
        output::print_message("there are no undelivered callbacks");
    } else {
        let flags = client.flags();
        output::print_message(&format!(
            "jackfield task resend TASK{flags} sends one again"
        ));
    }
    table(callbacks).print()?;
    Ok(ExitKind::Ok)
}

fn table(callbacks: &[Value]) -> Table {
    let mut table = Table::new(["task", "to", "attempts", "given up", "why"]);
    for callback in callbacks {
        table.row([
            text(callback, "task").to_owned(),
            text(callback, "to").to_owned(),
            callback["attempts"].to_string(),
            time(callback, "next_at"),
            text(callback, "last_error").to_owned(),
        ]);
    }
    table
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "jackfield task ls --dead lists undelivered callbacks.\n\nExample:\n  jackfield task resend 0199c2f0-1111-7aaa-8bbb-123456789abc"
)]
pub(super) struct Resend {
    /// Resend the callback of the task with this id, or id ending
    #[arg(value_parser = task_id::task)]
    task: String,
    #[command(flatten)]
    client: Client,
}

impl Resend {
    pub(super) async fn run(mut self) -> Result<ExitKind> {
        let hub = self.client.connect().await?;
        self.task = task_id::find(&hub, &self.task).await?;
        let path = format!("/v1/calls/{}/resend", self.task);
        let sent = client::request(&hub, Method::POST, &path, None).await;
        sent.map(drop).map_err(|error| match error {
            Error::Refused { ref code, .. } if code == "conflict" => CliError {
                next: Some(
                    "jackfield task ls --dead lists those that can be sent again".to_owned(),
                ),
                ..CliError::from_hub(&error, ErrorSubject::Task)
            },
            error => CliError::from_hub(&error, ErrorSubject::Task),
        })?;
        if self.client.json {
            output::json(&json!({"id": self.task, "resent": true}))?;
        } else {
            output::print_message(&format!("the callback of {} is sent again", self.task));
        }
        Ok(ExitKind::Ok)
    }
}
