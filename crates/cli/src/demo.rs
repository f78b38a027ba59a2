//! Hub and agents of `jackfield demo` ([`Newsroom`]): a newsroom. The hub's folder is removed afterwards. Each
//! protocol has one scripted agent behind a real connection, and all form a team.
//!
//! - `researcher.rs` Agora, `editor.rs` the bridge, `factchecker.rs` A2A, `translator.rs` libp2p
//! - `facts.rs` and `morse.rs` contents of the answers, `pace.rs` speed of the answers
//! - `automatic_calls.rs` automatic calls, `greeting.rs` the message at the start

mod automatic_calls;
mod editor;
mod factchecker;
mod facts;
mod greeting;
#[cfg(feature = "p2p")]
mod morse;
mod pace;
mod researcher;
#[cfg(feature = "p2p")]
mod translator;

use std::{io, net::SocketAddr, path::Path, time::Duration};

use anyhow::{Result, anyhow, bail};
use jackfield_core::{
    agent::Settings,
    hub::{Hub, Wanted},
    principal::Principal,
    tap::TapFilter,
};
use jackfield_kit::tasks::Tasks;
use jackfield_model::AgentId;
use jackfield_sdk::HubAddress;
#[cfg(feature = "p2p")]
use jackfield_sidecar::Sidecar;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::editor::Colleagues;
pub(crate) use self::greeting::Greeting;
use jackfield_hub::{
    assembly::{self, RunningHub},
    config::HubConfig,
};

/// Id of the team.
const TEAM: &str = "newsroom";

/// Listen address of agents that the hub dials.
const ANY_PORT: &str = "127.0.0.1:0";
/// Listen address of libp2p nodes, including the hub's.
const ANY_PEER_PORT: &str = "/ip4/127.0.0.1/tcp/0";
/// Time limit for the agents to connect. Long, since the limit matters only if something is wrong.
const ATTACHED: Duration = Duration::from_secs(20);
/// Time that open calls get at a stop.
const GRACE: Duration = Duration::from_millis(500);
/// Time that agents get to disconnect.
const LEAVE: Duration = Duration::from_millis(500);
/// Time limit for the whole stop: users do not wait for a demo.
const STOPPED: Duration = Duration::from_secs(5);

/// An agent or team of the demo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoAgent {
    pub(crate) id: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) does: &'static str,
}

/// All agents of the demo, the team last.
pub(crate) const CAST: &[DemoAgent] = &[
    DemoAgent {
        id: researcher::ID,
        protocol: "agora",
        does: "thinks, looks into its archive, quotes it word by word",
    },
    DemoAgent {
        id: editor::ID,
        protocol: "bridge",
        does: "asks the others; asks you before it prints a page",
    },
    DemoAgent {
        id: factchecker::ID,
        protocol: "a2a",
        does: "compares with its list, and hands it over as a file",
    },
    #[cfg(feature = "p2p")]
    DemoAgent {
        id: translator::ID,
        protocol: "p2p",
        does: "turns words into Morse code",
    },
    DemoAgent {
        id: TEAM,
        protocol: "team",
        does: "all of them; calls go to the editor",
    },
];

/// A running demo.
#[derive(Debug)]
pub(crate) struct Newsroom {
    running: RunningHub,
    agents: Tasks,
    life: Tasks,
    #[cfg(feature = "p2p")]
    sidecar: Sidecar,
}

impl Newsroom {
    /// Starts the demo at the first free address of `places`, with all data in `folder`. All agents are
    /// connected when this function returns.
    pub(crate) async fn open(places: &[SocketAddr], folder: &Path) -> Result<Self> {
        let agents = Tasks::new();
        let factchecker = factchecker::serve(&agents).await?;
        #[cfg(feature = "p2p")]
        let (sidecar, peer) = translator::start(folder, &agents).await?;
        #[cfg(feature = "p2p")]
        let peer = Some(peer);
        #[cfg(not(feature = "p2p"))]
        let peer = None;
        let running = start(places, folder, &settings(&factchecker, peer)).await?;
        let demo = Self {
            running,
            agents,
            life: Tasks::new(),
            #[cfg(feature = "p2p")]
            sidecar,
        };
        demo.attach()?;
        demo.wait().await?;
        demo.let_callers_approve().await?;
        Ok(demo)
    }

    /// Starts the agents that connect to the hub.
    fn attach(&self) -> Result<()> {
        let addr = self.running.addr;
        let stop = self.agents.stop_token();
        let researcher = researcher::run(addr);
        self.agents
            .spawn(stop.clone().run_until_cancelled_owned(researcher));
        let desk = Colleagues {
            researcher: researcher::ID.to_owned(),
            factchecker: factchecker::ID.to_owned(),
            #[cfg(feature = "p2p")]
            translator: Some(translator::ID.to_owned()),
            #[cfg(not(feature = "p2p"))]
            translator: None,
        };
        let editor = editor::agent(desk).hub(self.address()?);
        self.agents
            .spawn(editor.run_until(stop.clone().cancelled_owned(), || {}));
        Ok(())
    }

    /// Waits until all agents are connected.
    async fn wait(&self) -> Result<()> {
        let hub = &self.running.hub;
        // Subscribe first, to miss no connection.
        let mut watching = hub.taps().watch(Principal::local(), TapFilter::default());
        let all = async {
            while !missing(hub).is_empty() {
                watching.next().await;
            }
        };
        if timeout(ATTACHED, all).await.is_ok() {
            return Ok(());
        }
        bail!(
            "{} did not connect within {} s; if HTTP_PROXY is set, set NO_PROXY=127.0.0.1 too",
            missing(hub).join(", "),
            ATTACHED.as_secs()
        )
    }

    /// Lets callers of the editor give approvals, not only watchers: in the demo both are the same person.
    async fn let_callers_approve(&self) -> Result<()> {
        let id = AgentId::parse(editor::ID)?;
        let settings = Settings {
            approvals_to_caller: true,
            ..Settings::default()
        };
        let hub = &self.running.hub;
        let (_, saved) = hub
            .agents()
            .change(&Principal::local(), &id, None, Some(settings))?;
        Ok(saved.await?)
    }

    /// Starts automatic calls.
    pub(crate) fn start_calls(&self) -> Result<()> {
        let hub = jackfield_sdk::Hub::new(self.address()?)?;
        let stop = self.life.stop_token().clone();
        self.life
            .spawn(stop.run_until_cancelled_owned(automatic_calls::live(hub)));
        Ok(())
    }

    /// Returns the [`HubAddress`] for clients, independent of the environment.
    fn address(&self) -> Result<HubAddress> {
        Ok(HubAddress::new(&self.url())?)
    }

    /// Returns the address that the hub listens on.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.running.addr
    }

    /// Returns the hub's URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.running.addr)
    }

    /// Returns the [`Hub`], for watchers.
    pub(crate) fn hub(&self) -> &Hub {
        &self.running.hub
    }

    /// Stops the demo, regardless of open calls.
    pub(crate) async fn close(self) {
        let closing = async {
            self.life.stop(Duration::ZERO).await;
            self.running.stop(GRACE).await;
            self.agents.stop(LEAVE).await;
            #[cfg(feature = "p2p")]
            self.sidecar.close(LEAVE).await;
        };
        if timeout(STOPPED, closing).await.is_err() {
            tracing::warn!("the demo did not stop in time, and is dropped");
        }
    }
}

/// Starts the hub at the first free address of `places`.
async fn start(places: &[SocketAddr], folder: &Path, settings: &Value) -> Result<RunningHub> {
    let mut refused = anyhow!("there is no address to listen on");
    for listen in places {
        let config = HubConfig {
            listen: *listen,
            // One folder per attempt: an earlier attempt may not have closed its files yet.
            data_dir: folder.join(format!("hub-{}", listen.port())),
            ..serde_json::from_value(settings.clone())?
        };
        match assembly::start(&config).await {
            Err(error) if is_taken(&error) => refused = error,
            started => return started,
        }
    }
    Err(refused)
}

/// Returns whether the address is in use.
fn is_taken(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|cause: &io::Error| cause.kind() == io::ErrorKind::AddrInUse)
}

/// Returns the hub's settings in the format of the configuration file: the server to dial, the team, and the
/// peer.
fn settings(factchecker: &str, peer: Option<String>) -> Value {
    let members = CAST.iter().filter(|player| player.id != TEAM);
    // A member has its agent's name, without the suffix of the peer.
    let name = |id: &'static str| id.split('@').next();
    let members = members.map(|it| json!({"name": name(it.id), "agent": it.id}));
    let mut settings = json!({
        "agent": [{"id": factchecker::ID, "url": factchecker}],
        "team": [{
            "id": TEAM,
            "name": "Newsroom",
            "description": "Scripted. An editor who asks the others.",
            "coordinator": editor::ID,
            "members": members.collect::<Vec<_>>(),
        }],
    });
    if let Some(peer) = peer {
        settings["p2p"] = json!({"listen": [ANY_PEER_PORT], "peers": [peer]});
    }
    settings
}

/// Returns the agents of [`CAST`] that are not connected.
fn missing(hub: &Hub) -> Vec<&'static str> {
    let online = Wanted {
        online: true,
        ..Wanted::default()
    };
    let here = hub.agents().discover(&Principal::local(), &online);
    let is_here = |id: &str| here.iter().any(|it| it.id.as_str() == id);
    let ids = CAST.iter().map(|player| player.id);
    ids.filter(|id| !is_here(id)).collect()
}
