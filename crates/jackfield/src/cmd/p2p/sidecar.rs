//! `jackfield p2p sidecar`: a node beside one HTTP agent, until ctrl-c or SIGTERM.

mod tell;

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

use self::tell::{Places, Teller};
use jackfield_hub::config::LogFormat;

use crate::{
    client::{self, Client},
    exit::{Code, Stop},
    output, telemetry,
};

/// Where it listens, if nothing else is said: this machine. Others come through a relay.
const LISTEN: &str = "/ip4/127.0.0.1/tcp/0";

/// How long open handoffs may take when it stops: as long as the longest plain one.
const GRACE: Duration = Duration::from_secs(10);

/// Run a node beside an HTTP agent: peers get its card and hand work to it.
///
/// The agent shows its card at /card below its URL, and gets requests for the paths that the card declares, and for no
/// others. It may start later. The first line on standard output says who the sidecar is among peers, those after it
/// where peers reach it; under which id the hub has it is told on standard error.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield p2p sidecar --agent-url http://localhost:8000 --relay /ip4/192.0.2.7/tcp/7412/p2p/12D3KooW…\n  jackfield p2p sidecar --agent-url http://localhost:8000 --hub http://192.0.2.7:7411 --listen /ip4/0.0.0.0/tcp/9001\n\nThe key of each agent URL, by which its peer id and its agent id stay the same, is kept in sidecars/ in the data\ndirectory: $JACKFIELD_DATA_DIR, else $XDG_DATA_HOME/jackfield, else ~/.local/share/jackfield. One sidecar runs per key.\n\nP2P_RELAY_ADDR, P2P_KEYSTORE_PATH and AI_REGISTRY_URL are understood as the original programs do."
)]
pub(crate) struct Sidecar {
    /// Where the agent is
    #[arg(long, value_name = "URL")]
    agent_url: String,
    /// A relay through which it is reached, an address that ends in /p2p/ID; may be repeated
    #[arg(
        long,
        env = "P2P_RELAY_ADDR",
        value_name = "MULTIADDR",
        value_delimiter = ',',
        hide_env_values = true
    )]
    relay: Vec<String>,
    /// Where it listens; may be repeated [default: /ip4/127.0.0.1/tcp/0]
    #[arg(long, value_name = "MULTIADDR")]
    listen: Vec<String>,
    /// An address under which others reach it, where it cannot know that by itself; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    external: Vec<String>,
    /// What the agent is called [default: as its card says]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Take handoffs from this peer only; may be repeated [default: from everybody]
    #[arg(long, value_name = "PEER")]
    allow: Vec<String>,
    /// The folder of its key [default: one per agent URL in the data directory]
    #[arg(
        long,
        env = "P2P_KEYSTORE_PATH",
        value_name = "DIR",
        hide_env_values = true
    )]
    key_dir: Option<PathBuf>,
    /// The registry in which others find it [default: that of the hub; without --hub and with a relay, none: a hub that
    /// is the relay registers its guests itself]
    #[arg(
        long,
        env = "AI_REGISTRY_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    registry: Option<String>,
    /// How long the agent has for an answer in one piece, such as 30s [default: 10s]; one in frames has an hour
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
    /// Say in no registry where it is
    #[arg(long, conflicts_with = "registry")]
    no_register: bool,
    /// What to log: error, warn, info, debug, trace, or a filter [default: error]
    #[arg(long, env = "JACKFIELD_LOG", value_name = "FILTER")]
    log: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Sidecar {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        telemetry::start(self.log.as_deref().unwrap_or("error"), LogFormat::Text)?;
        // Heard from here on, so that a signal during the start stops it too.
        let (mut interrupt, mut terminate) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        );
        let (registry, hub) = (self.registry().await?, self.hub().await?);
        let url = |at: &Option<RegistryAt>| at.as_ref().map(|at| at.url.clone());
        let places = Places {
            registry: url(&registry),
            hub: url(&hub),
        };
        let key_dir = self.key_dir()?;
        // Held until the end: two sidecars of one key would take each other's entries away.
        let _lock = lock(&key_dir)?;
        let setting = self.setting(&key_dir, registry, hub)?;
        let opening = sidecar::Sidecar::open(setting);
        let opened = tokio::select! {
            opened = opening => opened.map_err(|error| explain(&error))?,
            _ = interrupt.recv() => return Ok(Code::Interrupted.into()),
            _ = terminate.recv() => return Ok(Code::Ok.into()),
        };
        let mut teller = Teller::new(self.client.json, opened.peer_id().to_string(), places);
        teller.begin();
        let mut standing = opened.status();
        loop {
            let now = standing.borrow_and_update().clone();
            teller.tell(now);
            tokio::select! {
                changed = standing.changed() => if changed.is_err() { break },
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
            }
        }
        output::chat("stopping; once more ctrl-c stops at once");
        tokio::select! {
            () = opened.close(GRACE) => Ok(Code::Ok.into()),
            _ = interrupt.recv() => Ok(Code::Interrupted.into()),
        }
    }

    /// Where it registers. A token is shown to the hub that it is for, and to no other registry.
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

    /// The hub among whose agents it is: the one that was named, else that of this machine, unless something else was.
    async fn hub(&self) -> Result<Option<RegistryAt>> {
        let has_another = self.no_register
            || !self.relay.is_empty()
            || self.registry.as_ref().is_some_and(|url| !url.is_empty());
        if self.client.named().is_none() && has_another {
            return Ok(None);
        }
        let hub = self.client.connect().await?;
        // Registering does not check whoever listens there.
        let asked = client::ask(&hub, Method::GET, "/healthz", None).await;
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
            let (_, relay) = way.map_err(|why| Stop::usage(format!("--relay {text:?} {why}")))?;
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
                Stop::new(Code::Usage, format!("--allow {text:?} is no peer id"), next)
            })?
        };
        let key = Identity::load_or_create(key_dir).map_err(|error| {
            let next = "--key-dir DIR keeps the key elsewhere";
            Stop::new(
                Code::Failed,
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

    /// Every agent has a key of its own, and keeps it.
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

/// Takes a key for this process; the system gives it back, however the process ends.
fn lock(key_dir: &Path) -> Result<File> {
    let failed = |error: io::Error| {
        let text = format!("cannot lock {}: {error}", key_dir.display());
        Stop::new(Code::Failed, text, "--key-dir DIR keeps the key elsewhere")
    };
    let mut folder = DirBuilder::new();
    folder.recursive(true).mode(0o700);
    folder.create(key_dir).map_err(failed)?;
    let mut options = File::options();
    options.create(true).append(true).mode(0o600);
    let file = options.open(key_dir.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Stop::new(
            Code::Failed,
            "a sidecar for this URL runs already",
            "stop it first; --key-dir DIR lets another one run as another peer",
        )
        .into()),
        Err(TryLockError::Error(error)) => Err(failed(error).into()),
    }
}

fn no_multiaddr(flag: &str, text: &str) -> Stop {
    let next = "write it like /ip4/0.0.0.0/tcp/9001 or /ip4/0.0.0.0/udp/9001/quic-v1";
    Stop::new(
        Code::Usage,
        format!("{flag} {text:?} is no multiaddr"),
        next,
    )
}

fn explain(error: &SidecarError) -> Stop {
    let (code, next) = match error {
        SidecarError::Relay(_) => (
            Code::Usage,
            "a hub's addresses are shown by: jackfield p2p peers",
        ),
        SidecarError::Url(_) => (
            Code::Usage,
            "--agent-url, --registry and --hub take URLs such as http://localhost:8000",
        ),
        SidecarError::Node(_) => (
            Code::Failed,
            "is another sidecar running? --listen MULTIADDR chooses another address",
        ),
    };
    Stop::new(code, error.to_string(), next)
}
