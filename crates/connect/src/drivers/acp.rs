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
//! - `calls.rs` the current call of each conversation; `prompt.rs` a turn as a prompt; `updates.rs` output of
//!   the agent; `permission.rs` approval of tools

mod calls;
mod connection;
mod inbox;
mod permission;
mod prompt;
mod rpc;
mod updates;

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use jackfield_sdk::Failure;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::Mutex as AsyncMutex, time::timeout};

use self::{
    calls::Calls,
    connection::{Coming, Connection, Prompting, Trouble},
    inbox::Item,
    prompt::Abilities,
    rpc::RpcError,
    updates::{Ending, Hearing},
};
use crate::{
    Driver, Introduction, Process, Reaper, Said, Spec, Turn, Voice, Working, process::CRASHED,
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
    spec: Spec,
    is_trusted: bool,
    reaper: Reaper,
    running: AsyncMutex<Option<Arc<Running>>>,
    introduction: Mutex<Introduction>,
    calls: Calls,
}

#[derive(Debug)]
struct Running {
    connection: Connection,
    abilities: Abilities,
}

impl Acp {
    /// Creates a driver for a command. Only a trusted agent may get permissions beyond a single use.
    pub fn new(spec: Spec, is_trusted: bool, reaper: Reaper) -> Self {
        Self {
            spec,
            is_trusted,
            reaper,
            running: AsyncMutex::default(),
            introduction: Mutex::default(),
            calls: Calls::default(),
        }
    }

    fn name(&self) -> &str {
        &self.spec.program
    }

    /// Returns the running agent; starts a [`Process`] if necessary.
    async fn running(&self) -> Result<Arc<Running>, Failure> {
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

    async fn start(&self) -> Result<Running, Failure> {
        self.spec.find()?;
        let name = self.name();
        let connection = Connection::new(Process::start(&self.spec, &self.reaper)?, name);
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "jackfield", "title": "Jackfield", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = timeout(STARTING, connection.request("initialize", &params)).await;
        let answer = answer
            .map_err(|_| {
                let text = format!("{name} does not answer; does it speak ACP on stdio?");
                Failure::new(CRASHED, text)
            })?
            .map_err(|trouble| self.failure(trouble))?;
        let version = answer["protocolVersion"].as_u64();
        if version != Some(VERSION) {
            let theirs = version.map_or("none".to_owned(), |version| version.to_string());
            let text =
                format!("{name} speaks version {theirs} of ACP, and {VERSION} is spoken here");
            return Err(Failure::new(CRASHED, text));
        }
        *self.introduction.lock() = introduction(&answer);
        Ok(Running {
            connection,
            abilities: Abilities::read(&answer),
        })
    }

    async fn turn(&self, mut turn: Turn, voice: &Voice) -> Result<(), Failure> {
        self.calls.note(&mut turn);
        let running = self.running().await?;
        let session = self.session(&running, &turn, voice).await?;
        let blocks = prompt::blocks(&turn, running.abilities).await;
        let prompted = running.connection.prompt(&session, blocks).await;
        let prompting = prompted.map_err(|trouble| self.failure(trouble))?;
        let answer = self.converse(prompting, voice).await?;
        let (said, ending) = updates::ending(&answer);
        for said in said {
            voice.say(said).await?;
        }
        match ending {
            Ending::Done => {}
            // The agent's text is the reason.
            Ending::Refused => voice.reply().rejected(),
            Ending::Stopped => {
                let text = "the agent was stopped before it had finished";
                return Err(Failure::new("agent_stopped", text));
            }
        }
        Ok(())
    }

    /// Returns the agent's id of the turn's conversation, opened or resumed if necessary.
    async fn session(
        &self,
        running: &Running,
        turn: &Turn,
        voice: &Voice,
    ) -> Result<String, Failure> {
        let connection = &running.connection;
        if let Some(native) = &turn.native_session {
            if connection.knows(native) {
                return Ok(native.clone());
            }
            if self.take_up(running, turn, native).await? {
                connection.learn(native);
                return Ok(native.clone());
            }
            let text = "the agent does not remember this conversation; a new one begins";
            voice.say(Said::Status(text.to_owned())).await?;
        }
        let params = json!({"cwd": turn.dir, "mcpServers": prompt::servers(turn.mcp.as_ref())});
        let answer = self.open(connection, "session/new", &params).await?;
        let answer = answer.map_err(|error| self.refused(&error))?;
        let Some(native) = answer["sessionId"].as_str() else {
            let text = format!("{} opened a conversation and gave it no id", self.name());
            return Err(Failure::new(CRASHED, text));
        };
        connection.learn(native);
        voice.say(Said::Session(native.to_owned())).await?;
        Ok(native.to_owned())
    }

    /// Resumes a conversation of an earlier process. Returns `false` if the agent cannot.
    async fn take_up(&self, running: &Running, turn: &Turn, native: &str) -> Result<bool, Failure> {
        let Abilities { resumes, loads, .. } = running.abilities;
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
        connection: &Connection,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, Failure> {
        match timeout(OPENING, connection.request(method, params)).await {
            Ok(Ok(answer)) => Ok(Ok(answer)),
            Ok(Err(Trouble::Refused(error))) => Ok(Err(error)),
            Ok(Err(Trouble::Gone(failure))) => Err(failure),
            Err(_) => {
                let text = format!("{} did not open a conversation in time", self.name());
                Err(Failure::new("timeout", text))
            }
        }
    }

    /// Streams the agent's output until the prompt returns. Several permission requests may be open at once.
    async fn converse(&self, mut prompting: Prompting, voice: &Voice) -> Result<Value, Failure> {
        let mut hearing = Hearing::default();
        let mut deciding = FuturesUnordered::new();
        loop {
            let coming = tokio::select! {
                coming = prompting.next() => coming,
                Some((id, params, decided)) = deciding.next() => {
                    let decision: crate::Decision = decided?;
                    let answer = permission::answer(&params, decision.approved, self.is_trusted);
                    if let Some(note) = answer.note {
                        voice.say(Said::Status(note.to_owned())).await?;
                    }
                    prompting.permit(&id, &answer.result).await;
                    continue;
                }
            };
            match coming {
                Coming::Item(Item::Update(update)) => {
                    for said in hearing.hear(&update) {
                        voice.say(said).await?;
                    }
                }
                Coming::Item(Item::Permission { id, params }) => deciding.push(async move {
                    let (tool, arguments) = permission::question(&params);
                    let decided = voice.approve(&tool, arguments).await;
                    (id, params, decided)
                }),
                Coming::End => break,
            }
        }
        if hearing.skipped > 0 {
            tracing::debug!(
                count = hearing.skipped,
                "updates of the agent are not known"
            );
        }
        let answer = prompting.answer().await;
        answer.map_err(|trouble| self.failure(trouble))
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Refused(error) => self.refused(&error),
            Trouble::Gone(failure) => failure,
        }
    }

    fn refused(&self, error: &RpcError) -> Failure {
        if error.wants_sign_in() {
            let text = format!(
                "the agent wants somebody to sign in ({}); run {} by itself once and sign in, \
                 or pass its key on with --env",
                error.text(),
                self.name()
            );
            return Failure::new("agent_sign_in", text);
        }
        Failure::new("agent_error", error.text())
    }
}

impl Driver for Acp {
    fn kind(&self) -> &'static str {
        "acp"
    }

    fn check(&self) -> Working<'_> {
        Box::pin(async { self.running().await.map(drop) })
    }

    fn introduction(&self) -> Introduction {
        self.introduction.lock().clone()
    }

    fn work(&self, turn: Turn, voice: Voice) -> Working<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}

fn introduction(answer: &Value) -> Introduction {
    let info = &answer["agentInfo"];
    let names = [&info["title"], &info["name"]];
    let name = names.into_iter().find_map(Value::as_str);
    Introduction {
        name: name.map(str::to_owned),
        version: info["version"].as_str().map(str::to_owned),
        ..Introduction::default()
    }
}
