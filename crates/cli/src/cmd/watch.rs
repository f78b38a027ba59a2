//! `jackfield watch`: shows calls and messages of agents live, one line per event; or a team on a full
//! screen.

mod line;
mod team;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_model::TaskId;
use jackfield_sdk::{Backoff, Error, EventStream, Hub, RawEvent, encode};
use tokio::signal::unix::{SignalKind, signal};

use self::line::EventLines;
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output,
};

/// Watch agents live, one line per event; a team on a screen with a lane for each member.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Each line shows the time, the agent, the end of the call's id, and the event; for a team, the member and the event.\n\
                       Ctrl-c ends it.\n\n\
                       Keys for a team: tab selects a member, enter shows it alone, t shows its tools, a approves, d denies, q quits.\n\n\
                       Examples:\n  jackfield watch\n  jackfield watch echo --raw\n  jackfield watch shop\n  \
                       jackfield watch --json | jq 'select(.type == \"ask\")'"
)]
pub(crate) struct Watch {
    /// Watch only this agent, team or task
    #[arg(value_name = "AGENT|TEAM|TASK", value_parser = client::agent_id)]
    what: Option<String>,
    /// Print lines for a team even on a terminal
    #[arg(long)]
    plain: bool,
    /// Print the whole history of a team, not only the last 20 lines
    #[arg(long)]
    history: bool,
    /// Print also the raw frames of the agents' connections: <- from the agent, -> to the agent
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    client: Client,
}

impl Watch {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            watched = self.watch(&hub) => watched,
            _ = interrupt.recv() => Ok(ExitKind::Interrupted.into()),
        }
    }

    async fn watch(&self, hub: &Hub) -> Result<ExitCode> {
        let mut query = String::new();
        if let Some(id) = &self.what {
            if let Some(task) = TaskId::parse(id)
                && is_there(hub, &format!("/v1/calls/{task}"), ErrorSubject::Task).await?
            {
                return self.follow(hub, &task.to_string()).await;
            }
            let path = encode(id);
            let is_team = is_there(hub, &format!("/v1/teams/{path}"), ErrorSubject::Team).await?;
            // Raw frames belong to agents' connections, so `--raw` uses the view of agents.
            if is_team && !self.raw {
                return team::watch(hub, id, self.plain, self.history, &self.client).await;
            }
            if !is_team
                && !is_there(hub, &format!("/v1/agents/{path}"), ErrorSubject::Agent).await?
            {
                output::print_message(&format!("no agent {id} is known yet; waiting for it"));
            }
            query = format!("&{}={path}", if is_team { "team" } else { "agent" });
        }
        let never = self.see_all(hub, query).await?;
        match never {}
    }

    /// Follows one task until its end.
    async fn follow(&self, hub: &Hub, task: &str) -> Result<ExitCode> {
        let mut lines = EventLines::new(self.client.flags());
        let mut stream = hub.follow(task).await.about(ErrorSubject::Task)?;
        loop {
            let next = tokio::select! {
                next = stream.next_raw() => next.about(ErrorSubject::Task)?,
                () = pause(&lines) => {
                    print(&lines.quiet(Instant::now()))?;
                    continue;
                }
            };
            let Some(event) = next else { break };
            self.show(&event, &mut lines)?;
        }
        print(&lines.rest())?;
        Ok(ExitKind::Ok.into())
    }

    /// Follows all agents, and reconnects after each lost connection.
    async fn see_all(&self, hub: &Hub, mut query: String) -> Result<std::convert::Infallible> {
        if self.raw {
            query += "&raw=true";
        }
        let path = format!("/v1/events?{}", query.trim_start_matches('&'));
        let mut lines = EventLines::new(self.client.flags());
        let mut backoff = Backoff::default();
        let mut events = hub.events(&path, None).await?;
        output::print_message("watching; ctrl-c ends it");
        loop {
            let error = self.read(&mut events, &mut lines, &mut backoff).await?;
            if !is_passing(&error) {
                return Err(CliError::from_hub(&error, ErrorSubject::Agent).into());
            }
            output::print_message("lost the connection to the hub; reconnecting");
            events = loop {
                tokio::time::sleep(backoff.next_wait()).await;
                // The hub may have moved to a different address.
                hub.relocate().await?;
                match hub.events(&path, None).await {
                    Ok(events) => break events,
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            };
            output::print_message("reconnected; events in between were missed");
        }
    }

    /// Reads until the [`EventStream`] ends, and returns the reason.
    async fn read(
        &self,
        events: &mut EventStream,
        lines: &mut EventLines,
        backoff: &mut Backoff,
    ) -> Result<Error> {
        let why = loop {
            let next = tokio::select! {
                next = events.next() => next,
                () = pause(lines) => {
                    print(&lines.quiet(Instant::now()))?;
                    continue;
                }
            };
            match next {
                Ok(Some(event)) if event.name == "failed" => {
                    break event.read().err().unwrap_or(Error::Broken);
                }
                Ok(Some(event)) => {
                    backoff.reset();
                    self.show(&event, lines)?;
                }
                Ok(None) => break Error::Broken,
                Err(error) => break error,
            }
        };
        print(&lines.rest())?;
        Ok(why)
    }

    fn show(&self, event: &RawEvent, lines: &mut EventLines) -> Result<()> {
        if self.client.json {
            output::json(&event.data)?;
        } else {
            print(&lines.of(event))?;
            // Other calls may keep the stream busy, so pending lines are flushed here too.
            print(&lines.quiet(Instant::now()))?;
        }
        Ok(())
    }
}

fn print(lines: &[String]) -> Result<()> {
    for line in lines {
        output::line(line)?;
    }
    Ok(())
}

/// Waits for [`line::QUIET`], until an unfinished line may be printed; forever, if there is no unfinished line.
async fn pause(lines: &EventLines) {
    if !lines.is_open() {
        return std::future::pending().await;
    }
    tokio::time::sleep(line::QUIET).await;
}

/// Returns whether a retry makes sense after this [`Error`]. A stopping hub may be back soon.
fn is_passing(error: &Error) -> bool {
    error.is_retryable() || error.code() == Some("stopping")
}

async fn is_there(hub: &Hub, path: &str, about: ErrorSubject) -> Result<bool> {
    match client::request(hub, Method::GET, path, None).await {
        Ok(_) => Ok(true),
        Err(Error::Refused { code, .. }) if code == "not_found" => Ok(false),
        Err(error) => Err(CliError::from_hub(&error, about).into()),
    }
}
