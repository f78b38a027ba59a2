//! `jackfield watch`: what agents say and do, live, one line per event; or what a team does, on a screen of its own.

mod line;
mod team;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_model::TaskId;
use jackfield_sdk::{Backoff, Error, EventStream, Hub, RawEvent, encode};
use tokio::signal::unix::{SignalKind, signal};

use self::line::Lines;
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop, WhatAbout},
    output,
};

/// See what agents say and do, live, one line per event; a team on a screen with a lane for each member.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Each line: the time, the agent, the end of the call's id, what happened; of a team: the member, and what happened.\n\
                       Ctrl-c ends it.\n\n\
                       A team: tab selects a member, enter shows it alone, t unfolds its tools, a and d answer what it asks for, q quits.\n\n\
                       Examples:\n  jackfield watch\n  jackfield watch echo --raw\n  jackfield watch shop\n  \
                       jackfield watch --json | jq 'select(.type == \"ask\")'"
)]
pub(crate) struct Watch {
    /// Only this agent, this team or this task
    #[arg(value_name = "AGENT|TEAM|TASK", value_parser = client::agent_id)]
    what: Option<String>,
    /// A team in lines, also on a terminal
    #[arg(long)]
    plain: bool,
    /// All lines of what a team did before, not only the last 20
    #[arg(long)]
    history: bool,
    /// Also the frames on the agents' connections, as they are: <- from the agent, -> to it
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
            _ = interrupt.recv() => Ok(Code::Interrupted.into()),
        }
    }

    async fn watch(&self, hub: &Hub) -> Result<ExitCode> {
        let mut query = String::new();
        if let Some(id) = &self.what {
            if let Some(task) = TaskId::parse(id)
                && is_there(hub, &format!("/v1/calls/{task}"), About::Task).await?
            {
                return self.follow(hub, &task.to_string()).await;
            }
            let path = encode(id);
            let is_team = is_there(hub, &format!("/v1/teams/{path}"), About::Team).await?;
            // What goes over the lines of agents is seen as that of agents.
            if is_team && !self.raw {
                return team::watch(hub, id, self.plain, self.history, &self.client).await;
            }
            if !is_team && !is_there(hub, &format!("/v1/agents/{path}"), About::Agent).await? {
                output::chat(&format!("no agent {id} is known yet; waiting for it"));
            }
            query = format!("&{}={path}", if is_team { "team" } else { "agent" });
        }
        let never = self.see_all(hub, query).await?;
        match never {}
    }

    /// Reads one task until its end.
    async fn follow(&self, hub: &Hub, task: &str) -> Result<ExitCode> {
        let mut lines = Lines::new(self.client.flags());
        let mut stream = hub.follow(task).await.about(About::Task)?;
        loop {
            let next = tokio::select! {
                next = stream.next_raw() => next.about(About::Task)?,
                () = pause(&lines) => {
                    print(&lines.quiet(Instant::now()))?;
                    continue;
                }
            };
            let Some(event) = next else { break };
            self.show(&event, &mut lines)?;
        }
        print(&lines.rest())?;
        Ok(Code::Ok.into())
    }

    /// Reads what all agents do, and connects again after each cut.
    async fn see_all(&self, hub: &Hub, mut query: String) -> Result<std::convert::Infallible> {
        if self.raw {
            query += "&raw=true";
        }
        let path = format!("/v1/events?{}", query.trim_start_matches('&'));
        let mut lines = Lines::new(self.client.flags());
        let mut backoff = Backoff::default();
        let mut events = hub.events(&path, None).await?;
        output::chat("watching; ctrl-c ends it");
        loop {
            let error = self.read(&mut events, &mut lines, &mut backoff).await?;
            if !is_passing(&error) {
                return Err(Stop::from_hub(&error, About::Agent).into());
            }
            output::chat("the hub is gone; looking for it again");
            events = loop {
                tokio::time::sleep(backoff.next_wait()).await;
                // It may have come back elsewhere.
                hub.relocate().await?;
                match hub.events(&path, None).await {
                    Ok(events) => break events,
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            };
            output::chat("it is back; what happened meanwhile was not seen");
        }
    }

    /// Reads until the stream ends, and says why it did.
    async fn read(
        &self,
        events: &mut EventStream,
        lines: &mut Lines,
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

    fn show(&self, event: &RawEvent, lines: &mut Lines) -> Result<()> {
        if self.client.json {
            output::json(&event.data)?;
        } else {
            print(&lines.of(event))?;
            // Other calls may keep the stream busy.
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

/// Waits until a line that has no end yet may be printed without it; for ever, while there is none.
async fn pause(lines: &Lines) {
    if !lines.is_open() {
        return std::future::pending().await;
    }
    tokio::time::sleep(line::QUIET).await;
}

/// A hub that stops may be back soon.
fn is_passing(error: &Error) -> bool {
    error.is_passing() || error.code() == Some("stopping")
}

async fn is_there(hub: &Hub, path: &str, about: About) -> Result<bool> {
    match client::ask(hub, Method::GET, path, None).await {
        Ok(_) => Ok(true),
        Err(Error::Refused { code, .. }) if code == "not_found" => Ok(false),
        Err(error) => Err(Stop::from_hub(&error, about).into()),
    }
}
