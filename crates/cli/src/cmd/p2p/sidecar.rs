//! `jackfield p2p sidecar`: runs a node beside one HTTP agent, until ctrl-c or SIGTERM.

mod printer;

use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_core::units::Span;
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
};
use jackfield_peer::{
    address, allowed::Allowed, identity::Identity, node::NodeConfig, serve::DEADLINE,
};
use jackfield_sdk::{Error, encode};
use jackfield_sidecar::{self as sidecar, RegistryAt, SidecarConfig, SidecarError};
use tokio::signal::unix::{SignalKind, signal};

use self::printer::{SidecarPrinter, SidecarUrls};
use jackfield_hub::config::LogFormat;

use crate::{
    client::{self, Client},
    exit::{CliError, ExitKind},
    output, telemetry,
};

/// Default listen address: this machine only. Other machines connect through a relay.
const LISTEN: &str = "/ip4/127.0.0.1/tcp/0";

/// Time limit for open handoffs at a stop: as long as the longest plain handoff.
const GRACE: Duration = Duration::from_secs(10);

/// Run a libp2p node beside an HTTP agent: peers can read its card and hand off work to it.
///
/// The agent serves its card at /card below its URL, and receives requests only for paths on the card. The
/// agent may start later. The first line on standard output is the sidecar's peer id, the following lines are
/// its addresses; the agent id on the hub is printed to standard error.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield p2p sidecar --agent-url http://localhost:8000 --relay /ip4/192.0.2.7/tcp/7412/p2p/12D3KooW…\n  jackfield p2p sidecar --agent-url http://localhost:8000 --hub http://192.0.2.7:7411 --listen /ip4/0.0.0.0/tcp/9001\n\nThe key of each agent URL, by which its peer id and its agent id stay the same, is stored in sidecars/ in the data\ndirectory: $JACKFIELD_DATA_DIR, else $XDG_DATA_HOME/jackfield, else ~/.local/share/jackfield. One sidecar runs per key.\n\nP2P_RELAY_ADDR, P2P_KEYSTORE_PATH and AI_REGISTRY_URL are understood as in the original programs."
)]
pub(crate) struct Sidecar {
    /// Use the agent at this URL
    #[arg(long, value_name = "URL")]
    agent_url: String,
    /// Accept connections through this relay, an address that ends in /p2p/ID; may be repeated
    #[arg(
        long,
        env = "P2P_RELAY_ADDR",
        value_name = "MULTIADDR",
        value_delimiter = ',',
        hide_env_values = true
    )]
    relay: Vec<String>,
    /// Listen on this address; may be repeated [default: /ip4/127.0.0.1/tcp/0]
    #[arg(long, value_name = "MULTIADDR")]
    listen: Vec<String>,
    /// Announce this address, if the node cannot know it by itself; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    external: Vec<String>,
    /// Use this agent name [default: the name on the card]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Accept handoffs from this peer only; may be repeated [default: from all peers]
    #[arg(long, value_name = "PEER")]
    allow: Vec<String>,
    /// Store the key in this folder [default: one per agent URL in the data directory]
    #[arg(
        long,
        env = "P2P_KEYSTORE_PATH",
        value_name = "DIR",
        hide_env_values = true
    )]
    key_dir: Option<PathBuf>,
    /// Register at this registry [default: that of the hub; none with a relay and without --hub, because a
    /// hub that is the relay registers its peers itself]
    #[arg(
        long,
        env = "AI_REGISTRY_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    registry: Option<String>,
    /// Wait this long for an answer in one piece, such as 30s [default: 10s]; a streamed answer has an hour
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
    /// Do not register anywhere
    #[arg(long, conflicts_with = "registry")]
    no_register: bool,
    /// Log at this level (error, warn, info, debug, trace) or with this filter [default: error]
    #[arg(long, env = "JACKFIELD_LOG", value_name = "FILTER")]
    log: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Sidecar {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        telemetry::start(self.log.as_deref().unwrap_or("error"), LogFormat::Text)?;
        // Listen for signals from here on, so that a signal stops a sidecar that is still starting.
        let (mut interrupt, mut terminate) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        );
        let (registry, hub) = (self.registry().await?, self.hub().await?);
        let url = |at: &Option<RegistryAt>| at.as_ref().map(|at| at.url.clone());
        let places = SidecarUrls {
            registry: url(&registry),
            hub: url(&hub),
        };
        let key_dir = self.key_dir()?;
        // Held until the end: two sidecars with one key would remove each other's entries.
        let _lock = lock(&key_dir)?;
        let setting = self.setting(&key_dir, registry, hub)?;
        let opening = sidecar::Sidecar::open(setting);
        let opened = tokio::select! {
            opened = opening => opened.map_err(|error| explain(&error))?,
            _ = interrupt.recv() => return Ok(ExitKind::Interrupted.into()),
            _ = terminate.recv() => return Ok(ExitKind::Ok.into()),
        };
        let mut teller =
            SidecarPrinter::new(self.client.json, opened.peer_id().to_string(), places);
        teller.begin();
        let mut standing = opened.status();
        loop {
            let now = standing.borrow_and_update().clone();
            teller.print_changes(now);
            tokio::select! {
                changed = standing.changed() => if changed.is_err() { break },
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
            }
        }
        output::print_message("stopping; press ctrl-c again to stop at once");
        tokio::select! {
            () = opened.close(GRACE) => Ok(ExitKind::Ok.into()),
            _ = interrupt.recv() => Ok(ExitKind::Interrupted.into()),
        }
    }

    /// Returns the registry to use. A token is sent only to the hub that issued it, never to a different
    /// registry.
    async fn registry(&self) -> Result<Option<RegistryAt>> {
        if self.no_register {
            return Ok(None);
        }
        if let Some(url) = self.registry.as_ref().filter(|url| !url.is_empty()) {
            return Ok(Some(RegistryAt {
                url: url.clone(),
                token: None,
            }));
        }
        if self.client.named().is_none() && !self.relay.is_empty() {
            return Ok(None);
        }
        self.hub().await
    }

    /// Returns the hub to join: the named hub, else this machine's hub, unless a relay or registry was named.
    async fn hub(&self) -> Result<Option<RegistryAt>> {
        let has_another = self.no_register
            || !self.relay.is_empty()
            || self.registry.as_ref().is_some_and(|url| !url.is_empty());
        if self.client.named().is_none() && has_another {
            return Ok(None);
        }
        let hub = self.client.connect().await?;
        // Check the listener here, because the registration does not.
        let asked = client::request(&hub, Method::GET, "/healthz", None).await;
        if let Err(error @ Error::Untrusted { .. }) = asked {
            return Err(error.into());
        }
        let address = hub.address();
        Ok(Some(RegistryAt {
            url: address.base().to_owned(),
            token: address.token().map(ToOwned::to_owned),
        }))
    }

    fn setting(
        &self,
        key_dir: &Path,
        registry: Option<RegistryAt>,
        hub: Option<RegistryAt>,
    ) -> Result<SidecarConfig> {
        let mut relays = Vec::new();
        for text in self.relay.iter().map(|text| text.trim()) {
            let way = address::way_to_peer(text);
            let (_, relay) =
                way.map_err(|why| CliError::usage(format!("--relay {text:?} {why}")))?;
            relays.push(relay);
        }
        let mut listen = Vec::new();
        let default = [LISTEN.to_owned()];
        let wanted = if self.listen.is_empty() {
            &default
        } else {
            &*self.listen
        };
        for text in wanted {
            let parsed = address::parse(text);
            listen.push(parsed.map_err(|_| no_multiaddr("--listen", text))?);
        }
        let mut external = Vec::new();
        for text in &self.external {
            let parsed = address::parse(text);
            external.push(parsed.map_err(|_| no_multiaddr("--external", text))?);
        }
        let allowed = if self.allow.is_empty() {
            Allowed::Everyone
        } else {
            Allowed::only(&self.allow).map_err(|text| {
                let next = "give the id that jackfield p2p peers shows, such as 12D3KooW…";
                CliError::new(
                    ExitKind::Usage,
                    format!("--allow {text:?} is not a peer id"),
                    next,
                )
            })?
        };
        let key = Identity::load_or_create(key_dir).map_err(|error| {
            let next = "--key-dir DIR stores the key elsewhere";
            CliError::new(
                ExitKind::Failed,
                format!("{:#}", anyhow::Error::from(error)),
                next,
            )
        })?;
        Ok(SidecarConfig {
            tasks: Tasks::new(),
            key,
            node: NodeConfig {
                listen,
                external,
                ..NodeConfig::default()
            },
            outbound: Outbound::new(&OutboundRules::default())?,
            agent_url: self.agent_url.clone(),
            name: self.name.clone(),
            allowed,
            relays,
            deadline: self.deadline.map_or(DEADLINE, |span| span.0),
            registry,
            hub,
        })
    }

    /// Returns the folder of the key. Each agent keeps its own key.
    fn key_dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.key_dir {
            return Ok(dir.clone());
        }
        let named = std::env::var_os("JACKFIELD_DATA_DIR").map(PathBuf::from);
        let folder = encode(self.agent_url.trim_end_matches('/'));
        let data_dir = client::data_dir(named.as_ref())?;
        Ok(data_dir.join("sidecars").join(folder))
    }
}

/// Locks a key for this process; the system releases the lock when the process ends.
fn lock(key_dir: &Path) -> Result<File> {
    let failed = |error: io::Error| {
        let text = format!("cannot lock {}: {error}", key_dir.display());
        CliError::new(
            ExitKind::Failed,
            text,
            "--key-dir DIR stores the key elsewhere",
        )
    };
    let mut folder = DirBuilder::new();
    folder.recursive(true).mode(0o700);
    folder.create(key_dir).map_err(failed)?;
    let mut options = File::options();
    options.create(true).append(true).mode(0o600);
    let file = options.open(key_dir.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CliError::new(
            ExitKind::Failed,
            "a sidecar for this URL runs already",
            "stop it first; --key-dir DIR lets another one run as another peer",
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(failed(error).into()),
    }
}

fn no_multiaddr(flag: &str, text: &str) -> CliError {
    let next = "write it like /ip4/0.0.0.0/tcp/9001 or /ip4/0.0.0.0/udp/9001/quic-v1";
    CliError::new(
        ExitKind::Usage,
        format!("{flag} {text:?} is not a multiaddr"),
        next,
    )
}

fn explain(error: &SidecarError) -> CliError {
    let (code, next) = match error {
        SidecarError::Relay(_) => (
            ExitKind::Usage,
            "a hub's addresses are shown by: jackfield p2p peers",
        ),
        SidecarError::Url(_) => (
            ExitKind::Usage,
            "--agent-url, --registry and --hub take URLs such as http://localhost:8000",
        ),
        SidecarError::Node(_) => (
            ExitKind::Failed,
            "is another sidecar running? --listen MULTIADDR chooses another address",
        ),
    };
    CliError::new(code, error.to_string(), next)
}
