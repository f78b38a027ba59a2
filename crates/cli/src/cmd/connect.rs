//! `jackfield connect`: connects an agent on this machine to a hub, and serves calls until stopped.

mod approvals;
pub(super) mod kind;
mod printer;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand as _};
use http::Method;
use jackfield_connect::{
    AgentToken, Driver, McpServer, Reaper, Sessions, address_of_agent,
    attachments::Attachments,
    queue::{MachineQueue, QueueLimits},
    setup::{self, SetupError, TokenStore},
    workspace::Workspaces,
};
use jackfield_sdk::{Agent, AgentFailure, Error, Hub, HubAddress};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::{
    kind::{ConnectKind, DriverSettings},
    printer::EventPrinter,
};
use jackfield_hub::config::LogFormat;

use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind},
    output,
    sent_token::{self, SentToken},
    sessions, shell, telemetry,
};

/// Name of the MCP server through which the agent can call other agents.
const MCP: &str = "jackfield";

/// Warning for a shell command that contains the caller's text.
const COMMANDS: &str = "warning: the shell interprets {prompt} as commands, so every caller of this agent can run any command here; \
                        pass it as an argument: sh -c '… \"$1\" …' sh '{prompt}'";

/// Connect an agent on this machine to a hub, and serve calls until ctrl-c.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "KIND",
    subcommand_help_heading = "Kinds of agents",
    after_long_help = "The first line on standard output is `connected as ID`, once the hub has confirmed it. If the hub cannot be \
                       reached, connect retries until it can. Ctrl-c disconnects and ends the started programs; ctrl-c again does so at \
                       once.\n\nExit codes: 1 another connection took over the id, 2 invalid arguments, 3 the program \
                       or the server does not exist, 4 the token is refused or revoked.\n\nExamples:\n  jackfield connect --as \
                       laptop claude\n  jackfield connect acp gemini --acp\n  jackfield connect --as grep exec grep -n \
                       -- '{prompt}' notes.txt\n  jackfield connect openai http://127.0.0.1:11434\n  jackfield connect --setup \
                       https://hub.example/invite/TICKET claude"
)]
pub(crate) struct Connect {
    /// Use this agent id [default: the kind or program, and this machine's name]
    #[arg(long = "as", value_name = "ID", value_parser = client::agent_id)]
    id: Option<String>,
    /// Set a display name
    #[arg(long)]
    name: Option<String>,
    /// Describe the agent's purpose
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Announce a skill; may be repeated
    #[arg(long = "skill", value_name = "SKILL")]
    skills: Vec<String>,
    /// Run the agent in this folder [default: this one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Allow the agent to use all of its tools without approval
    #[arg(long)]
    trust: bool,
    /// Work on at most this many messages at once, across all agents connected on this machine
    #[arg(long, value_name = "N", default_value_t = QueueLimits::default().active, value_parser = at_least_one)]
    max: usize,
    /// Pass this environment variable to the agent; may be repeated
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,
    /// Do not let this agent call the hub's other agents
    #[arg(long)]
    no_mcp: bool,
    /// Fetch files for the agent also from private addresses
    #[arg(long)]
    allow_private: bool,
    /// Use this invite, which names the hub and the agent and works once; overrides --hub
    #[arg(long, value_name = "URL", conflicts_with_all = ["id", "token_file"])]
    setup: Option<String>,
    #[command(flatten)]
    client: Client,
    #[command(subcommand)]
    kind: ConnectKind,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("must be a number of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

impl Connect {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        // Log problems that recover by themselves, such as a conversation that could not be stored.
        telemetry::start("warn", LogFormat::Text)?;
        let state = sessions::state_folder().ok_or_else(|| {
            CliError::usage("there is no folder for state files; set HOME or XDG_STATE_HOME")
        })?;
        let state = state.join("connect");
        if let Some((program, flag)) = self.kind.misplaced() {
            output::print_message(&format!(
                "note: {flag} is passed to {program}, because it comes after it; flags for jackfield come before the kind of agent"
            ));
        }
        if self.kind.lets_callers_command() {
            output::print_message(COMMANDS);
        }
        let dir = self.folder()?;
        let (mut driver, mut reaper) = self.driver(&dir, &state).await?;
        // Resolve the hub after the driver's check: an invite works only once.
        let tokens = TokenStore::new(state.join("tokens"));
        let (id, mut address) = self.resolve_agent_and_hub(&tokens).await?;
        let chatter = Arc::new(EventPrinter::new(&id, address.base(), self.client.json));
        let desk = approvals::find(self.client.json, self.flags(&address));
        let limits = QueueLimits {
            active: self.max,
            ..QueueLimits::default()
        };
        loop {
            let chatter = chatter.clone();
            let connect = jackfield_connect::ConnectedAgent {
                agent: self.agent(&id, &*driver),
                queue: MachineQueue::open(state.join("queue"), limits)
                    .context("cannot use the queue of this machine")?,
                workspaces: Workspaces::new(dir.clone()),
                attachments: Attachments::new(&address, self.allow_private)?,
                parts: state.join("parts"),
                sessions: Sessions::open(
                    &state.join("sessions"),
                    address.base(),
                    &id,
                    driver.kind(),
                )
                .context("cannot use the folder of conversations")?,
                desk: desk.clone(),
                is_trusted: self.trust,
                mcp: self.mcp()?,
                token: (!self.no_mcp).then(|| AgentToken::new(tokens.clone(), &state, &id)),
                listener: Arc::new(move |news| chatter.print(&news)),
                reaper: reaper.clone(),
                driver,
                address: address.clone(),
            };
            let error = match run(connect, &reaper).await {
                Ok(code) => return Ok(code.into()),
                Err(error) => error,
            };
            let Some(again) = self.with_token(&error, &address, &tokens).await else {
                return Err(ended(&error, &id, &Hub::new(address)?).await.into());
            };
            output::print_message("the hub needs a token now; connecting with this agent's token");
            address = again;
            (driver, reaper) = self.driver(&dir, &state).await?;
        }
    }

    /// Creates the [`Driver`] of the agent, and the [`Reaper`] that ends its processes. Checks that the
    /// program or server exists.
    async fn driver(&self, dir: &Path, state: &Path) -> Result<(Arc<dyn Driver>, Reaper)> {
        let reaper = Reaper::new();
        let driver = self.kind.driver(&DriverSettings {
            dir: dir.to_owned(),
            pass: self.env.clone(),
            is_trusted: self.trust,
            allow_private: self.allow_private,
            state,
            reaper: &reaper,
        })?;
        driver.check().await.map_err(|failure| missing(&failure))?;
        Ok((driver, reaper))
    }

    /// Returns the hub's [`HubAddress`] with a token, if the hub refused a connection without a token and this
    /// machine has a token by now. A hub that starts with a `public_url` for the first time creates an
    /// administrator's token, which commands find.
    async fn with_token(
        &self,
        error: &Error,
        address: &HubAddress,
        tokens: &TokenStore,
    ) -> Option<HubAddress> {
        let is_refused =
            matches!(error, Error::Refused { status: 0, code, .. } if code == "unauthorized");
        if !is_refused || address.token().is_some() || self.setup.is_some() {
            return None;
        }
        let (_, again) = self.resolve_agent_and_hub(tokens).await.ok()?;
        again.token().is_some().then_some(again)
    }

    /// Returns the folder that the agent works in.
    fn folder(&self) -> Result<PathBuf> {
        let dir = self.dir.as_deref().unwrap_or(Path::new("."));
        let found = dir.canonicalize().ok().filter(|dir| dir.is_dir());
        Ok(found.ok_or_else(|| {
            CliError::usage(format!(
                "{} is not a folder; name one with --dir",
                dir.display()
            ))
        })?)
    }

    /// Returns the agent's id, and the hub's [`HubAddress`] with the token to send.
    async fn resolve_agent_and_hub(&self, tokens: &TokenStore) -> Result<(String, HubAddress)> {
        if let Some(url) = &self.setup {
            let setup = setup::fetch(url, &self.client.trust()?).await;
            let setup = setup.map_err(|error| refused(&error))?;
            let id = client::agent_id(&setup.agent_id)
                .map_err(|error| CliError::usage(format!("the invite names no agent: {error}")))?;
            tokens
                .store(&setup.address, &id)
                .context("cannot store the token of the invite")?;
            sent_token::record(SentToken::Saved {
                file: tokens.path(&setup.address, &id),
            });
            client::warn_if_readable(&setup.address);
            if let Some(misnamed) = &setup.misnamed {
                output::print_message(&format!(
                    "note: the hub's public_url is {}, which cannot be reached from here ({}); connecting to {}, the address of the invite",
                    output::clean(&misnamed.url),
                    output::clean(&misnamed.why),
                    setup.address.base()
                ));
            }
            let base = shell::word(setup.address.base());
            let rest = without_setup(std::env::args());
            output::print_message(&format!(
                "next time without the invite: jackfield connect --hub {base} --as {}{rest}",
                shell::word(&id)
            ));
            return Ok((id, setup.address));
        }
        let id = match &self.id {
            Some(id) => id.clone(),
            None => self.kind.default_id(),
        };
        let hub = self.client.connect().await?;
        let address = hub.address();
        if address.token().is_none()
            && let Some(token) = tokens.find(&address, &id)?
        {
            sent_token::record(SentToken::Saved {
                file: tokens.path(&address, &id),
            });
            client::warn_if_readable(&address);
            return Ok((id, address.with_token(token)));
        }
        if !sent_token::is_admin_token() {
            return Ok((id, address));
        }
        // Each reconnect sends the token to whichever process listens at the address. Therefore not the
        // administrator's token, if the hub makes a token for this agent alone.
        match address_of_agent(&hub, tokens, &id).await {
            Ok(address) => {
                tokens
                    .store(&address, &id)
                    .context("cannot store the token of the agent")?;
                sent_token::record(SentToken::Saved {
                    file: tokens.path(&address, &id),
                });
                Ok((id, address))
            }
            Err(Error::Refused { code, .. }) if code == "unsupported" => Ok((id, address)),
            Err(error) => Err(CliError::from_hub(&error, ErrorSubject::Agent).into()),
        }
    }

    /// Returns the [`Agent`] with its profile for the hub: typed values, else the agent's own.
    fn agent(&self, id: &str, driver: &dyn Driver) -> Agent {
        let itself = driver.self_description();
        let mut agent = Agent::new(id);
        if let Some(name) = self.name.clone().or(itself.name) {
            agent = agent.name(name);
        }
        if let Some(description) = self.description.clone().or(itself.description) {
            agent = agent.description(description);
        }
        if let Some(version) = itself.version {
            agent = agent.version(version);
        }
        if self.skills.is_empty() {
            return itself.skills.into_iter().fold(agent, Agent::skill);
        }
        self.skills
            .iter()
            .fold(agent, |agent, skill| agent.skill(skill.as_str()))
    }

    /// Returns this program as the [`McpServer`] through which the agent can call other agents.
    fn mcp(&self) -> Result<Option<McpServer>> {
        if self.no_mcp {
            return Ok(None);
        }
        Ok(Some(McpServer {
            name: MCP.to_owned(),
            command: std::env::current_exe().context("cannot find this program")?,
            args: vec!["mcp".to_owned()],
            env: Vec::new(),
        }))
    }

    /// Returns the flags to repeat in a command that the user is told to type.
    fn flags(&self, address: &HubAddress) -> String {
        match &self.setup {
            Some(_) => {
                let hub = format!(" --hub {}", shell::word(address.base()));
                match address.trust().ca() {
                    Some(ca) => format!("{hub} --ca {}", shell::word(&ca)),
                    None => hub,
                }
            }
            None => self.client.flags(),
        }
    }
}

/// Returns the typed arguments after `connect`, without the invite and the hub, quoted for a shell.
fn without_setup(typed: impl Iterator<Item = String>) -> String {
    let typed: Vec<_> = typed.skip_while(|word| word != "connect").skip(1).collect();
    // Arguments after the kind belong to the agent's program.
    let kind = typed
        .iter()
        .position(|word| ConnectKind::has_subcommand(word));
    let (ours, its) = typed.split_at(kind.unwrap_or(typed.len()));
    let mut rest = String::new();
    let mut ours = ours.iter();
    while let Some(word) = ours.next() {
        match word.split_once('=').map_or(word.as_str(), |(flag, _)| flag) {
            "--setup" | "--hub" if word.contains('=') => {}
            "--setup" | "--hub" => drop(ours.next()),
            _ => rest += &format!(" {}", shell::word(word)),
        }
    }
    its.iter()
        .fold(rest, |rest, word| format!("{rest} {}", shell::word(word)))
}

/// Serves calls until ctrl-c or SIGTERM; a second signal stops immediately.
async fn run(
    connect: jackfield_connect::ConnectedAgent,
    reaper: &Reaper,
) -> Result<ExitKind, Error> {
    let stop = CancellationToken::new();
    let mut signals = StopSignals::listen();
    let twice = async {
        signals.next().await;
        output::print_message("disconnecting; press ctrl-c again to stop at once");
        stop.cancel();
        signals.next().await;
    };
    tokio::select! {
        ended = connect.run_until(stop.cancelled()) => ended.map(|()| ExitKind::Ok),
        () = twice => {
            reaper.kill().await;
            Ok(ExitKind::Interrupted)
        }
    }
}

/// Signals that stop the program. A signal that cannot be registered is ignored.
struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl StopSignals {
    fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) {
        async fn heard(signal: &mut Option<Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = heard(&mut self.interrupt) => {}
            () = heard(&mut self.terminate) => {}
        }
    }
}

/// Builds the [`CliError`] for an agent whose program or server is missing, or refuses us.
fn missing(failure: &AgentFailure) -> CliError {
    let code = match failure.code.as_str() {
        "auth_failed" | "agent_unauthorized" | "model_unauthorized" => ExitKind::Auth,
        "invalid_message" => ExitKind::Usage,
        _ => ExitKind::Missing,
    };
    CliError {
        code,
        text: output::clean_lines(&failure.message),
        next: None,
    }
}

fn refused(error: &SetupError) -> CliError {
    let (code, next) = match error {
        SetupError::Url(_) => (ExitKind::Usage, None),
        SetupError::Gone => (ExitKind::Auth, None),
        SetupError::Unreachable { .. } | SetupError::Broken { .. } => (ExitKind::Missing, None),
        SetupError::Tls { why, .. } => (ExitKind::Missing, Some(why.remedy().to_owned())),
        // As for an agent that connects without an invite.
        SetupError::NoSocket { why, .. } => {
            let stop = CliError::from_hub(why, ErrorSubject::Agent);
            (stop.code, stop.next)
        }
        SetupError::Refused { .. } | SetupError::Unreadable { .. } => (ExitKind::Failed, None),
    };
    CliError {
        code,
        text: output::clean_lines(&error.to_string()),
        next,
    }
}

/// Builds the [`CliError`] after the hub ended the connection permanently. For a refused token, asks the hub for the
/// reason.
async fn ended(error: &Error, id: &str, hub: &Hub) -> CliError {
    let invite = format!(
        "ask for an invite (at the hub: jackfield invite {}) and connect with --setup URL",
        shell::word(id)
    );
    let invite = match sent_token::describe() {
        Some(token) => format!("{token}\n{invite}"),
        None => invite,
    };
    match error {
        // The close code is one for both: whether the token still works, the hub knows.
        Error::Closed { code: 4002, .. } => {
            match client::request(hub, Method::GET, "/v1/whoami", None).await {
                Err(Error::Refused { status: 401, .. }) => CliError::new(
                    ExitKind::Auth,
                    format!("the token of {id} was revoked or has expired"),
                    invite,
                ),
                Ok(_) => CliError::new(
                    ExitKind::Auth,
                    format!("{id} was removed from the hub"),
                    "connect it again if it should be there",
                ),
                Err(_) => CliError::new(
                    ExitKind::Auth,
                    format!("{id} was removed from the hub, or its token was revoked"),
                    invite,
                ),
            }
        }
        Error::Refused {
            status: 0, code, ..
        } if code == "unauthorized" => {
            let asked = client::request(hub, Method::GET, "/v1/whoami", None).await;
            match asked {
                Err(Error::Refused {
                    status: 401,
                    message,
                    ..
                }) => CliError::new(
                    ExitKind::Auth,
                    output::clean_lines(&format!("{id} is refused: {message}")),
                    invite,
                ),
                _ => CliError::from_hub(error, ErrorSubject::Agent),
            }
        }
        Error::Closed { code: 4001, .. } => CliError::new(
            ExitKind::Failed,
            format!("another connection has taken over the id {id}"),
            "only one connection can have an id; --as ID connects this one under another id",
        ),
        error => CliError::from_hub(error, ErrorSubject::Agent),
    }
}

#[cfg(test)]
mod tests;
