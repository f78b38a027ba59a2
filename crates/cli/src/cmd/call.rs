//! `jackfield call`: calls an agent and streams the answer.

pub(super) mod files;
pub(super) mod message;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_core::units::Span;
use jackfield_sdk::{CallBuilder, CallStarted, CallStream, Hub, encode};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use self::files::FileArgs;
use crate::{
    client::{self, Client},
    exit::{ErrorSubject, ExitKind, WithErrorSubject},
    output,
    reply::{self, ReplyOutcome, ReplyPrinter},
    sessions, shell,
};

/// Time limit for the hub to accept a cancellation at exit.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Call an agent and stream its answer to standard output.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Ctrl-c cancels the call. If the agent can resume its work (connect, the SDK) or is an A2A server, the call survives a lost connection and a \
                       restart of the hub. Exit codes: 1 failed, 2 usage, 3 offline or not found, 4 not allowed, 5 timeout, \
                       6 the agent failed, 7 cancelled (by another user, or because a question could not be answered here), 130 ctrl-c.\n\nExamples:\n  jackfield call echo \"hello\"\n  git diff | jackfield call reviewer -f style.md\n  \
                       jackfield call laptop \"run the tests\" --wait-online 8h --detach\n  \
                       jackfield call laptop \"draw the plots\" --upload data --with-files --out plots"
)]
pub(crate) struct Call {
    /// Call the agent with this id
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// Send this text; - or no text reads standard input
    text: Option<String>,
    /// Continue the last conversation with this agent
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    go_on: bool,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Use the skill with this id, for agents with several skills
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Attach a file; may be repeated
    #[arg(long = "file", short = 'f', value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Keep the call running if this command ends; jackfield task ls lists it
    #[arg(long)]
    keep: bool,
    /// Start the call, print its task id and return
    #[arg(long)]
    detach: bool,
    /// Wait up to this time for the agent to come online, such as 8h
    #[arg(long, value_name = "TIME")]
    wait_online: Option<Span>,
    /// End the call after this time, such as 30s
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show thinking, tools and status on standard error even if standard error is not a terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    with: FileArgs,
    #[command(flatten)]
    client: Client,
}

impl Call {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        self.with.check(&self.agent)?;
        let hub = self.client.connect().await?;
        let call = self.with.name(self.builder(&hub)?)?;
        let sent = self.with.send(&hub, &self.agent, self.client.json).await?;
        if sent != ExitKind::Ok {
            return Ok(sent.into());
        }
        if self.detach {
            let started = call.detach().await.about(ErrorSubject::Agent);
            let started = started.map_err(|stop| stop.fill_in("AGENT", &self.agent))?;
            self.detached(&hub, &started)?;
            return Ok(ExitKind::Ok.into());
        }
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut stream = tokio::select! {
            stream = call.start() => {
                let stream = stream.about(ErrorSubject::Agent);
                stream.map_err(|stop| stop.fill_in("AGENT", &self.agent))?
            }
            _ = interrupt.recv() => return Ok(ExitKind::Interrupted.into()),
        };
        self.remember(&hub, &stream.started().session);
        if self.client.json {
            output::json(&opened(stream.started()))?;
        }
        let reading = ReplyPrinter {
            hub: &hub,
            json: self.client.json,
            verbose: self.verbose,
            from_log: false,
            flags: self.client.flags(),
            handed: self.with.handed(),
            goes_on: self.is_kept(),
        };
        if self.wait_online.is_some() {
            self.say_that_it_waits(&hub).await;
        }
        let outcome = match reading.read(&mut stream).await {
            Err(error) => {
                // The hub stored the call only for this reader, who is gone.
                if stream.is_durable() && !self.is_kept() {
                    tokio::time::timeout(LAST_WORD, stream.cancel()).await.ok();
                }
                return Err(error);
            }
            Ok(outcome) => outcome,
        };
        if let ReplyOutcome::Interrupted = outcome {
            cancel(stream).await;
        }
        let next = shell::command("call", &[&self.agent], "-c TEXT", &self.client.flags());
        let done = match &outcome {
            ReplyOutcome::Done(done) => Some(done.clone()),
            _ => None,
        };
        let code = reply::code(outcome, &self.agent, &next)?;
        Ok(match done {
            Some(done) => {
                self.with
                    .fetch(&hub, &self.agent, &done, &self.client)
                    .await?
            }
            None => code,
        }
        .into())
    }

    /// Returns whether the call continues without this command.
    fn is_kept(&self) -> bool {
        self.keep || self.wait_online.is_some()
    }

    /// Tells the user that the call waits because the agent is offline.
    async fn say_that_it_waits(&self, hub: &Hub) {
        let path = format!("/v1/agents/{}", encode(&self.agent));
        let agent = client::request(hub, Method::GET, &path, None).await;
        if let (Ok(agent), Some(wait)) = (agent, self.wait_online)
            && agent["state"] == "offline"
        {
            output::print_message(&format!(
                "{} is offline; waiting for it up to {wait} (ctrl-c cancels the call)",
                self.agent
            ));
        }
    }

    fn builder(&self, hub: &Hub) -> Result<CallBuilder> {
        let message = message::read(self.text.as_deref(), &self.files)?;
        let mut call = hub.call(&self.agent);
        if let Some(text) = message.text {
            call = call.text(text);
        }
        if !message.parts.is_empty() {
            call = call.parts(message.parts);
        }
        if let Some(session) = self.conversation(hub) {
            call = call.session(session);
        }
        if let Some(skill) = &self.skill {
            call = call.metadata(json!({ "skill": skill }));
        }
        if let Some(Span(time)) = self.timeout {
            call = call.timeout(time);
        }
        if let Some(Span(time)) = self.wait_online {
            call = call.wait_online(time);
        }
        call = if self.keep {
            call.durable()
        } else {
            call.durable_if_resumable()
        };
        // Set for the children of an agent, so that loops are cut and cancels are passed on.
        if let Some(parent) = std::env::var("JACKFIELD_CALL")
            .ok()
            .filter(|id| !id.is_empty())
        {
            call = call.parent(parent);
        }
        Ok(call)
    }

    fn conversation(&self, hub: &Hub) -> Option<String> {
        if !self.go_on {
            return self.session.clone();
        }
        let last = sessions::last(hub.address().base(), &self.agent);
        if last.is_none() {
            output::print_message(&format!(
                "no earlier conversation with {} is known here; starting a new one",
                self.agent
            ));
        }
        last
    }

    fn remember(&self, hub: &Hub, session: &str) {
        if let Err(error) = sessions::remember(hub.address().base(), &self.agent, session) {
            output::print_message(&format!(
                "cannot store this conversation for --continue: {error}"
            ));
        }
    }

    fn detached(&self, hub: &Hub, started: &CallStarted) -> Result<()> {
        self.remember(hub, &started.session);
        let (task, flags) = (
            started.task.as_deref().unwrap_or(&started.id),
            self.client.flags(),
        );
        if self.client.json {
            output::json(&json!({"task": task, "call": started.id, "session": started.session}))?;
            return Ok(());
        }
        output::line(&output::clean(task))?;
        let with = |name: &str| shell::command(name, &[task], "", &flags);
        output::print_message(&format!(
            "follow it with: {}\ncancel it with: {}",
            with("task wait"),
            with("task cancel")
        ));
        Ok(())
    }
}

/// Returns the first event of a call ([`CallStarted`]), in the hub's format.
fn opened(started: &CallStarted) -> serde_json::Value {
    let mut opened = json!({"type": "call", "id": started.id, "session": started.session});
    if let Some(task) = &started.task {
        opened["task"] = json!(task);
    }
    opened
}

/// Cancels a call by its [`CallStream`]. A live call is cancelled by disconnecting anyway; a durable call
/// only if the hub receives the request.
async fn cancel(stream: CallStream) {
    let is_kept = stream.is_durable();
    let told = tokio::time::timeout(LAST_WORD, stream.cancel()).await;
    match told {
        Ok(Ok(())) => output::print_message("cancelled"),
        _ if !is_kept => output::print_message("cancelled"),
        Ok(Err(error)) => {
            output::print_message(&format!("not cancelled: {error}; see jackfield task ls"))
        }
        Err(_) => output::print_message("the hub does not answer; see jackfield task ls"),
    }
}
