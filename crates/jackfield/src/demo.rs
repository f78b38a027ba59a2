//! A newsroom for `jackfield demo`: a hub in a folder that is removed afterwards, an agent on every protocol, each at the end
//! of a real connection, and a team of them. All of them are scripted.
//!
//! - `researcher.rs` Agora, `editor.rs` the bridge, `factchecker.rs` A2A, `translator.rs` libp2p
//! - `facts.rs` and `morse.rs` what they know, `pace.rs` how fast they speak
//! - `life.rs` the calls that come by themselves, `greeting.rs` what is said when it is ready

mod editor;
mod factchecker;
mod facts;
mod greeting;
mod life;
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
use jackfield_sdk::Address;
#[cfg(feature = "p2p")]
use jackfield_sidecar::Sidecar;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::editor::Desk;
pub(crate) use self::greeting::Greeting;
use jackfield_hub::{
    assembly::{self, Running},
    config::Config,
};

/// The id of the team.
const TEAM: &str = "newsroom";

/// Where the agents listen that the hub dials.
const ANY_PORT: &str = "127.0.0.1:0";
/// Where the peers among them listen, the hub too.
const ANY_PEER_PORT: &str = "/ip4/127.0.0.1/tcp/0";
/// How long the agents may take to attach. Long, since it only matters when something is wrong.
const ATTACHED: Duration = Duration::from_secs(20);
/// How long open calls may go on when it stops.
const GRACE: Duration = Duration::from_millis(500);
/// How long the agents may take to leave.
const LEAVE: Duration = Duration::from_millis(500);
/// How long all of it may take: nobody waits for a demo.
const STOPPED: Duration = Duration::from_secs(5);

/// One of those who can be called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Player {
    pub(crate) id: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) does: &'static str,
}

/// All of them, the team last.
pub(crate) const CAST: &[Player] = &[
    Player {
        id: researcher::ID,
        protocol: "agora",
        does: "thinks, looks into its archive, quotes it word by word",
    },
    Player {
        id: editor::ID,
        protocol: "bridge",
        does: "asks the others; asks you before it prints a page",
    },
    Player {
        id: factchecker::ID,
        protocol: "a2a",
        does: "compares with its list, and hands it over as a file",
    },
    #[cfg(feature = "p2p")]
    Player {
        id: translator::ID,
        protocol: "p2p",
        does: "turns words into Morse code",
    },
    Player {
        id: TEAM,
        protocol: "team",
        does: "all of them; calls go to the editor",
    },
];

/// A newsroom that is open.
#[derive(Debug)]
pub(crate) struct Demo {
    running: Running,
    agents: Tasks,
    life: Tasks,
    #[cfg(feature = "p2p")]
    sidecar: Sidecar,
}

impl Demo {
    /// Opens it at the first of these addresses that is free, with everything that it keeps in this folder. All agents are
    /// attached when this returns.
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

    /// Starts the agents that dial the hub.
    fn attach(&self) -> Result<()> {
        let addr = self.running.addr;
        let stop = self.agents.stop_token();
        let researcher = researcher::run(addr);
        self.agents
            .spawn(stop.clone().run_until_cancelled_owned(researcher));
        let desk = Desk {
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

    /// Waits until everybody is there.
    async fn wait(&self) -> Result<()> {
        let hub = &self.running.hub;
        // Watched first, so that nobody comes unseen.
        let mut watching = hub.watch(Principal::local(), TapFilter::default());
        let all = async {
            while !missing(hub).is_empty() {
                watching.next().await;
            }
        };
        if timeout(ATTACHED, all).await.is_ok() {
            return Ok(());
        }
        bail!(
            "{} did not attach within {} s; where HTTP_PROXY is set, NO_PROXY=127.0.0.1 keeps the proxy out of it",
            missing(hub).join(", "),
            ATTACHED.as_secs()
        )
    }

    /// Whoever calls the editor is asked for the press, and not only who watches: here they are the same person.
    async fn let_callers_approve(&self) -> Result<()> {
        let id = AgentId::parse(editor::ID)?;
        let settings = Settings {
            approvals_to_caller: true,
            ..Settings::default()
        };
        let hub = &self.running.hub;
        let (_, saved) = hub.change(&Principal::local(), &id, None, Some(settings))?;
        Ok(saved.await?)
    }

    /// Lets calls come by themselves.
    pub(crate) fn come_to_life(&self) -> Result<()> {
        let hub = jackfield_sdk::Hub::new(self.address()?)?;
        let stop = self.life.stop_token().clone();
        self.life
            .spawn(stop.run_until_cancelled_owned(life::live(hub)));
        Ok(())
    }

    /// The address that clients are given. Nothing of the environment goes into it.
    fn address(&self) -> Result<Address> {
        Ok(Address::new(&self.url())?)
    }

    /// Where the hub listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.running.addr
    }

    /// The same for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.running.addr)
    }

    /// The hub itself, for whoever watches.
    pub(crate) fn hub(&self) -> &Hub {
        &self.running.hub
    }

    /// Closes it, whatever still goes on.
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

/// Starts the hub at the first of these addresses that is free.
async fn start(places: &[SocketAddr], folder: &Path, settings: &Value) -> Result<Running> {
    let mut refused = anyhow!("there is no address to listen on");
    for listen in places {
        let config = Config {
            listen: *listen,
            // One for each attempt: what an earlier one opened may not be closed yet.
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

/// Whether somebody else listens there.
fn is_taken(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|cause: &io::Error| cause.kind() == io::ErrorKind::AddrInUse)
}

/// What the hub is told, as its configuration file would: the server that it dials, the team, the peer that it keeps.
fn settings(factchecker: &str, peer: Option<String>) -> Value {
    let members = CAST.iter().filter(|player| player.id != TEAM);
    // A member is called as its agent, without the peer that it is from.
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

/// Who of the cast is not there.
fn missing(hub: &Hub) -> Vec<&'static str> {
    let online = Wanted {
        online: true,
        ..Wanted::default()
    };
    let here = hub.discover(&Principal::local(), &online);
    let is_here = |id: &str| here.iter().any(|it| it.id.as_str() == id);
    let ids = CAST.iter().map(|player| player.id);
    ids.filter(|id| !is_here(id)).collect()
}
