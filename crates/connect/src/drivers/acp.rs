//! Driver for any agent that speaks the Agent Client Protocol on stdio: gemini, and claude and codex through
//! their adapters.
//!
//! One process serves all conversations, from the first check on. If the process dies, its turns fail and the
//! next turn starts a new process. Conversations continue there if the agent can resume them.
//!
//! The protocol is implemented by a few files here instead of its crate: the crate starts processes in its
//! own way, refuses unknown messages, and has changed its shape with every major version, of which a year had
//! five.
//!
//! - `rpc.rs` lines and messages; `connection.rs` the running agent; `inbox.rs` items waiting for a turn
//! - `call_files.rs` the current call of each conversation; `prompt.rs` a turn as a prompt; `updates.rs` output of
//!   the agent; `usage.rs` cost of a turn; `permission.rs` approval of tools

mod call_files;
mod connection;
mod inbox;
mod permission;
mod prompt;
mod rpc;
mod updates;
mod usage;

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::Mutex as AsyncMutex, time::timeout};

use self::{
    call_files::CallFiles,
    connection::{AcpConnection, ActivePrompt, PromptEvent, RequestError},
    inbox::SessionItem,
    prompt::AcpCapabilities,
    rpc::AcpError,
    updates::{PromptOutcome, UpdateReader},
    usage::{CostBefore, TurnUsage},
};
use crate::{
    ChildProcess, CommandSpec, Driver, DriverFuture, DriverOutput, OutputItem, Reaper,
    SelfDescription, Turn, process::CRASHED,
};

/// Protocol version.
const VERSION: u64 = 1;
/// Time limit for starting an agent: some are downloaded first.
const STARTING: Duration = Duration::from_secs(120);
/// Time limit for opening a conversation, including its MCP servers.
const OPENING: Duration = Duration::from_secs(120);

/// [`Driver`] for an agent that speaks ACP.
#[derive(Debug)]
pub struct Acp {
    /// The command, with its working folder.
    spec: CommandSpec,
    is_trusted: bool,
    reaper: Reaper,
    running: AsyncMutex<Option<Arc<RunningAgent>>>,
    introduction: Mutex<SelfDescription>,
    calls: CallFiles,
}

#[derive(Debug)]
struct RunningAgent {
    connection: AcpConnection,
    abilities: AcpCapabilities,
}

impl Acp {
    /// Creates a driver for a command. Only a trusted agent may get permissions beyond a single use.
    pub fn new(spec: CommandSpec, is_trusted: bool, reaper: Reaper) -> Self {
        Self {
            spec,
            is_trusted,
            reaper,
            running: AsyncMutex::default(),
            introduction: Mutex::default(),
            calls: CallFiles::default(),
        }
    }

    fn name(&self) -> &str {
        &self.spec.program
    }

    /// Returns the running agent; starts a [`ChildProcess`] if necessary.
    async fn running(&self) -> Result<Arc<RunningAgent>, AgentFailure> {
        let mut running = self.running.lock().await;
        if let Some(running) = running.as_ref().filter(|it| !it.connection.is_over()) {
            return Ok(running.clone());
        }
        // The old process ends before the new one starts.
        *running = None;
        let started = Arc::new(self.start().await?);
        *running = Some(started.clone());
        Ok(started)
    }

    async fn start(&self) -> Result<RunningAgent, AgentFailure> {
        self.spec.find()?;
        let name = self.name();
        let connection = AcpConnection::new(ChildProcess::start(&self.spec, &self.reaper)?, name);
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "jackfield", "title": "Jackfield", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = timeout(STARTING, connection.request("initialize", &params)).await;
        let answer = answer
            .map_err(|_| {
                let text = format!("{name} does not answer; does it speak ACP on stdio?");
                AgentFailure::new(CRASHED, text)
            })?
            .map_err(|trouble| self.failure(trouble))?;
        let version = answer["protocolVersion"].as_u64();
        if version != Some(VERSION) {
            let theirs = version.map_or("none".to_owned(), |version| version.to_string());
            let text =
                format!("{name} speaks version {theirs} of ACP, and {VERSION} is spoken here");
            return Err(AgentFailure::new(CRASHED, text));
        }
        *self.introduction.lock() = introduction(&answer);
        Ok(RunningAgent {
            connection,
            abilities: AcpCapabilities::read(&answer),
        })
    }

    async fn turn(&self, mut turn: Turn, voice: &DriverOutput) -> Result<(), AgentFailure> {
        self.calls.note(&mut turn);
        let running = self.running().await?;
        let session = self.session(&running, &turn, voice).await?;
        let blocks = prompt::blocks(&turn, running.abilities).await;
        let prompted = running.connection.prompt(&session, blocks).await;
        let prompting = prompted.map_err(|trouble| self.failure(trouble))?;
        // The cost of a turn that fails or is dropped is part of the next turn's.
        let usage = TurnUsage::new(running.connection.cost(&session));
        let (answer, usage) = self.converse(prompting, usage, voice).await?;
        let (usage, cost) = usage.finish(&answer);
        running.connection.set_cost(&session, cost);
        if let Some(usage) = usage {
            voice.send(OutputItem::Usage(usage)).await?;
        }
        let (said, ending) = updates::ending(&answer);
        voice.send(said).await?;
        match ending {
            PromptOutcome::Done => {}
            // The agent's text is the reason.
            PromptOutcome::Refused => voice.reply().rejected(),
            PromptOutcome::Stopped => {
                let text = "the agent was stopped before it had finished";
                return Err(AgentFailure::new("agent_stopped", text));
            }
        }
        Ok(())
    }

    /// Returns the agent's id of the turn's conversation, opened or resumed if necessary.
    async fn session(
        &self,
        running: &RunningAgent,
        turn: &Turn,
        voice: &DriverOutput,
    ) -> Result<String, AgentFailure> {
        let connection = &running.connection;
        if let Some(native) = &turn.native_session {
            if connection.is_open(native) {
                return Ok(native.clone());
            }
            if self.resume(running, turn, native).await? {
                connection.mark_open(native, CostBefore::Unknown);
                return Ok(native.clone());
            }
            let text = "the agent does not remember this conversation; a new one begins";
            voice.send(OutputItem::Status(text.to_owned())).await?;
        }
        let params = json!({"cwd": turn.dir, "mcpServers": prompt::servers(turn.mcp.as_ref())});
        let answer = self.open(connection, "session/new", &params).await?;
        let answer = answer.map_err(|error| self.refused(&error))?;
        let Some(native) = answer["sessionId"].as_str() else {
            let text = format!("{} opened a conversation and gave it no id", self.name());
            return Err(AgentFailure::new(CRASHED, text));
        };
        connection.mark_open(native, CostBefore::Nothing);
        voice.send(OutputItem::Session(native.to_owned())).await?;
        Ok(native.to_owned())
    }

    /// Resumes a conversation of an earlier process. Returns `false` if the agent cannot.
    async fn resume(
        &self,
        running: &RunningAgent,
        turn: &Turn,
        native: &str,
    ) -> Result<bool, AgentFailure> {
        let AcpCapabilities { resumes, loads, .. } = running.abilities;
        let method = match (resumes, loads) {
            (true, _) => "session/resume",
            (false, true) => "session/load",
            (false, false) => return Ok(false),
        };
        let params = json!({"sessionId": native, "cwd": turn.dir, "mcpServers": prompt::servers(turn.mcp.as_ref())});
        // Replayed updates are dropped, because no turn reads them.
        let taken_up = self.open(&running.connection, method, &params).await?;
        if let Err(error) = &taken_up {
            tracing::info!(why = error.text(), "a conversation could not be taken up");
        }
        Ok(taken_up.is_ok())
    }

    async fn open(
        &self,
        connection: &AcpConnection,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, AcpError>, AgentFailure> {
        match timeout(OPENING, connection.request(method, params)).await {
            Ok(Ok(answer)) => Ok(Ok(answer)),
            Ok(Err(RequestError::Refused(error))) => Ok(Err(error)),
            Ok(Err(RequestError::Gone(failure))) => Err(failure),
            Err(_) => {
                let text = format!("{} did not open a conversation in time", self.name());
                Err(AgentFailure::new("timeout", text))
            }
        }
    }

    /// Streams the agent's output until the prompt returns. Several permission requests may be open at once.
    async fn converse(
        &self,
        mut prompting: ActivePrompt,
        usage: TurnUsage,
        voice: &DriverOutput,
    ) -> Result<(Value, TurnUsage), AgentFailure> {
        let mut hearing = UpdateReader::new(usage);
        let mut deciding = FuturesUnordered::new();
        loop {
            let coming = tokio::select! {
                coming = prompting.next() => coming,
                Some((id, params, decided)) = deciding.next() => {
                    let decision: crate::OwnerDecision = decided?;
                    let answer = permission::answer(&params, decision.approved, self.is_trusted);
                    if let Some(note) = answer.note {
                        voice.send(OutputItem::Status(note.to_owned())).await?;
                    }
                    prompting.permit(&id, &answer.result).await;
                    continue;
                }
            };
            match coming {
                PromptEvent::Item(SessionItem::Update(update)) => {
                    for said in hearing.read_update(&update) {
                        voice.send(said).await?;
                    }
                }
                PromptEvent::Item(SessionItem::Permission { id, params }) => {
                    deciding.push(async move {
                        let (tool, arguments) = permission::question(&params);
                        let decided = voice.approve(&tool, arguments).await;
                        (id, params, decided)
                    })
                }
                PromptEvent::End => break,
            }
        }
        if hearing.skipped > 0 {
            tracing::debug!(
                count = hearing.skipped,
                "updates of the agent are not known"
            );
        }
        let answer = prompting.answer().await;
        let answer = answer.map_err(|trouble| self.failure(trouble))?;
        Ok((answer, hearing.usage))
    }

    fn failure(&self, trouble: RequestError) -> AgentFailure {
        match trouble {
            RequestError::Refused(error) => self.refused(&error),
            RequestError::Gone(failure) => failure,
        }
    }

    fn refused(&self, error: &AcpError) -> AgentFailure {
        if error.wants_sign_in() {
            let text = format!(
                "the agent wants somebody to sign in ({}); run {} by itself once and sign in, \
                 or pass its key on with --env",
                error.text(),
                self.name()
            );
            return AgentFailure::new("agent_sign_in", text);
        }
        AgentFailure::new("agent_error", error.text())
    }
}

impl Driver for Acp {
    fn kind(&self) -> &'static str {
        "acp"
    }

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(async { self.running().await.map(drop) })
    }

    fn self_description(&self) -> SelfDescription {
        self.introduction.lock().clone()
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}

fn introduction(answer: &Value) -> SelfDescription {
    let info = &answer["agentInfo"];
    let names = [&info["title"], &info["name"]];
    let name = names.into_iter().find_map(Value::as_str);
    SelfDescription {
        name: name.map(str::to_owned),
        version: info["version"].as_str().map(str::to_owned),
        ..SelfDescription::default()
    }
}
