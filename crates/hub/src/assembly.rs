//! A hub put together: store, core, doors, server. `serve` runs it, and so does the testkit on port 0.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::{Extension, Router};
use jackfield_a2a::{A2a, Remotes};
use jackfield_agora::Agora;
use jackfield_bridge::Bridge;
use jackfield_core::{hub::Hub, principal::Scopes, token::Lookup};
use jackfield_kit::{
    auth::Gatekeeper,
    guard::{Guard, HostRules},
    outbox::Courier,
    server::{Server, ServerLimits},
    tasks::Tasks,
    tls::Tls,
};
#[cfg(feature = "mcp")]
use jackfield_mcp::Mcp;
use jackfield_model::Owner;
use jackfield_own::{
    OwnState,
    proof::{ProofKey, Prover},
};
#[cfg(feature = "p2p")]
use jackfield_p2p::P2p;
use jackfield_store::{
    SqliteStore,
    secrets::{self, Secret},
};
use jackfield_team::TeamDoor;
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    address::{Address, Published},
    callbacks, cards,
    config::{self, Config, RemoteConfig, TeamConfig},
    files, platform, signpost, ws,
};

/// How long open connections are given once all calls have ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The file of the first administrator's token, for hubs that trust nobody without one.
pub const ADMIN_TOKEN: &str = "admin-token";

/// A hub that is running.
#[derive(Debug)]
pub struct Running {
    /// The address it listens on.
    pub addr: SocketAddr,
    /// The hub itself.
    pub hub: Hub,
    config: Config,
    store: Arc<SqliteStore>,
    bridge: Arc<Bridge>,
    #[cfg(feature = "p2p")]
    p2p: Option<P2p>,
    tasks: Tasks,
    tls: Option<Tls>,
    /// Where commands of this user find the hub, if it could be written.
    published: Mutex<Option<Published>>,
    background: JoinSet<()>,
}

/// Starts a hub; it serves when this returns.
pub async fn start(config: &Config) -> Result<Running> {
    let store = Arc::new(open_store(&config.data_dir)?);
    let (outbound, key) = (callbacks::outbound(config)?, callbacks::key(config)?);
    let platform = platform::platform(config, outbound.clone())?;
    let hub = Hub::open(store.clone(), config.limits.clone())
        .await
        .context("cannot read the database")?;
    let proof_key = proof_key(&hub, config).await?;
    declare_teams(&hub, config).await?;
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; is another hub running? (--listen ADDR chooses another address)",
            config.listen
        )
    })?;
    let addr = listener.local_addr()?;
    files::serve(&hub, config, addr)?;
    let tls = match &config.tls {
        Some(files) => {
            Some(Tls::load(&files.cert, &files.key).context("cannot use the TLS files")?)
        }
        None => None,
    };
    let tasks = Tasks::new();
    let limits = ServerLimits::from(&config.limits);
    let gatekeeper = Gatekeeper::new(hub.clone(), config.trust());
    let bridge = Bridge::with_platform(hub.clone(), gatekeeper.clone(), tasks.clone(), platform)
        .context("cannot call the platform back")?;
    let a2a = A2a::new(hub.clone(), gatekeeper.clone())
        .with_cards(cards::cards(config, addr)?)
        .with_default_agent(config.a2a.default_agent.clone())
        .with_outbound(outbound.clone());
    let remotes = Remotes::start(
        hub.clone(),
        store.clone(),
        outbound.clone(),
        tasks.clone(),
        config.agents.iter().map(RemoteConfig::remote).collect(),
    )
    .await
    .context("cannot start the remote agents")?;
    remotes.belong_to(&a2a);
    #[cfg(feature = "p2p")]
    let p2p = crate::p2p::open(config, addr, &hub, &store, &gatekeeper, &outbound, &tasks).await?;
    let doors = Doors {
        bridge: bridge.clone(),
        a2a: Arc::new(a2a),
        remotes,
        #[cfg(feature = "p2p")]
        p2p: p2p.clone(),
    };
    let prover = Prover {
        hub: hub.clone(),
        key: proof_key,
        public_url: config.public_url.clone(),
    };
    let router = router(config, addr, prover, &gatekeeper, &tasks, &doors)?;
    // Invites tell the fingerprint of a certificate that no public CA signed.
    let router = match &tls {
        Some(tls) => router.layer(Extension(tls.clone())),
        None => router,
    };
    Courier::new(hub.clone(), outbound, key)
        .with(doors.bridge)
        .with(doors.a2a)
        .start(&tasks);
    let mut server = Server::new(vec![listener], router, tasks.clone())
        .with_limits(limits)
        .with_gatekeeper(gatekeeper);
    if let Some(tls) = &tls {
        server = server.with_tls(tls.clone());
    }
    let published = publish(config, addr, tls.as_ref());
    let mut background = JoinSet::new();
    let sweeper = hub.clone();
    background.spawn(async move { sweeper.sweep_forever().await });
    background.spawn(async move {
        server.run(LAST_WORDS).await;
    });
    Ok(Running {
        addr,
        hub,
        config: config.clone(),
        store,
        bridge,
        #[cfg(feature = "p2p")]
        p2p,
        tasks,
        tls,
        published: Mutex::new(published),
        background,
    })
}

/// Tells commands of this user where the hub is. A hub whose address cannot be written runs all the same.
fn publish(config: &Config, addr: SocketAddr, tls: Option<&Tls>) -> Option<Published> {
    let published = Published::new(&config.data_dir, &local_address(config, addr, tls));
    published
        .inspect_err(|error| tracing::warn!(%error, "cannot write the hub's address into the data directory"))
        .ok()
}

fn local_address(config: &Config, addr: SocketAddr, tls: Option<&Tls>) -> Address {
    let addr = config::local_addr(addr);
    Address {
        url: config.own_url(addr),
        certificate: tls.map(|tls| tls.fingerprint_at(addr.ip())),
    }
}

fn open_store(data_dir: &Path) -> Result<SqliteStore> {
    SqliteStore::open(data_dir)
        .with_context(|| format!("cannot open the data directory {}", data_dir.display()))
}

/// The teams of the configuration.
async fn declare_teams(hub: &Hub, config: &Config) -> Result<()> {
    let teams = config.teams.iter().map(TeamConfig::team);
    let teams = teams.collect::<Result<Vec<_>>>()?;
    hub.declare_teams(teams)
        .await
        .map_err(|failure| anyhow::anyhow!("[[team]]: {}", failure.text))
}

/// What the hub proves itself with. One that needs no token from its own user has it only if the data directory holds an
/// administrator's token that works: commands find that token, and must be able to tell whom they show it to.
async fn proof_key(hub: &Hub, config: &Config) -> Result<Option<ProofKey>> {
    let data_dir = &config.data_dir;
    // One that cannot be read is no reason not to start where none is needed; `doctor` tells of it.
    if config.trusts_everyone() && !matches!(secrets::load(data_dir, ADMIN_TOKEN), Ok(Some(_))) {
        return Ok(None);
    }
    let secret = first_admin(hub, data_dir).await?;
    let works = matches!(hub.tokens().look_up(secret.expose()), Lookup::Valid(_));
    let is_needed = !config.trusts_everyone();
    Ok((works || is_needed).then(|| ProofKey::new(secret.expose())))
}

/// A hub that trusts nobody without a token needs somebody who may make some.
async fn first_admin(hub: &Hub, data_dir: &Path) -> Result<Secret> {
    let secret = secrets::load_or_create(data_dir, ADMIN_TOKEN)
        .with_context(|| format!("cannot read or make the secret {ADMIN_TOKEN}"))?;
    if let Lookup::Unknown = hub.tokens().look_up(secret.expose()) {
        let (name, owner) = ("first admin".to_owned(), Owner::local());
        hub.tokens()
            .add(
                secret.expose().to_owned(),
                name,
                owner,
                &Scopes::admin(),
                None,
            )
            .await?;
    }
    Ok(secret)
}

/// The doors that answer requests, and call back later.
struct Doors {
    bridge: Arc<Bridge>,
    a2a: Arc<A2a>,
    remotes: Remotes,
    #[cfg(feature = "p2p")]
    p2p: Option<P2p>,
}

fn router(
    config: &Config,
    addr: SocketAddr,
    prover: Prover,
    gatekeeper: &Gatekeeper,
    tasks: &Tasks,
    doors: &Doors,
) -> Result<Router> {
    let hub = &prover.hub.clone();
    let rules = HostRules {
        listen: vec![addr],
        public_url: config.public_url.as_deref().map(str::parse).transpose()?,
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
    };
    let sockets = ws::router(ws::Doors {
        hub: hub.clone(),
        tasks: tasks.clone(),
        agora: Agora::new(hub.clone(), gatekeeper.clone(), tasks.clone()),
        bridge: doors.bridge.clone(),
    });
    let (relay, relay_api) = jackfield_bridge::router(doors.bridge.clone());
    let (files, files_api) = jackfield_bridge::files_router(doors.bridge.clone());
    let a2a = jackfield_a2a::router(doors.a2a.clone());
    let (own, mut api) = jackfield_own::router(OwnState {
        hub: hub.clone(),
        gatekeeper: gatekeeper.clone(),
        version: env!("CARGO_PKG_VERSION"),
        stop: tasks.stop_token().clone(),
    });
    let remotes = doors.remotes.clone();
    let (remotes, remotes_api) =
        jackfield_a2a::remotes_router(hub.clone(), gatekeeper.clone(), remotes);
    let (teams, teams_api) = jackfield_team::router(TeamDoor {
        hub: hub.clone(),
        gatekeeper: gatekeeper.clone(),
        tasks: tasks.clone(),
    });
    api.merge(relay_api);
    api.merge(files_api);
    api.merge(remotes_api);
    api.merge(teams_api);
    let (proof, proof_api) = jackfield_own::proof::proof_router(prover);
    api.merge(proof_api);
    let routes = sockets.merge(relay).merge(a2a).merge(own).merge(remotes);
    let routes = routes.merge(files).merge(proof);
    #[cfg(feature = "p2p")]
    let routes = match doors.p2p.as_ref().map(P2p::router) {
        Some((registry, registry_api)) => {
            api.merge(registry_api);
            routes.merge(registry)
        }
        None => routes,
    };
    #[cfg(feature = "mcp")]
    let routes = {
        let (mcp, mcp_api) = jackfield_mcp::router(Mcp {
            hub: hub.clone(),
            gatekeeper: gatekeeper.clone(),
            version: env!("CARGO_PKG_VERSION"),
            stop: tasks.stop_token().clone(),
        });
        api.merge(mcp_api);
        routes.merge(mcp)
    };
    let api = jackfield_own::openapi_route(gatekeeper.clone(), api);
    let routes = routes.merge(teams).merge(api).fallback(signpost::nowhere);
    Ok(routes.layer(Guard::new(rules)))
}

impl Running {
    /// The hub as a peer among peers, if it is one.
    #[cfg(feature = "p2p")]
    pub fn p2p(&self) -> Option<&P2p> {
        self.p2p.as_ref()
    }

    /// Reads the TLS files and the platform's secrets again.
    pub fn reload(&self) -> Result<()> {
        self.bridge.set_secrets(platform::secrets_of(&self.config)?);
        let Some(tls) = &self.tls else {
            return Ok(());
        };
        tls.reload().context("the TLS files were not changed")?;
        let address = local_address(&self.config, self.addr, Some(tls));
        match &mut *self.published.lock() {
            Some(published) => published
                .change(&address)
                .context("cannot write the hub's address into the data directory"),
            None => Ok(()),
        }
    }

    /// Stops: takes no more calls, gives the open ones `grace`, tells everybody, closes.
    pub async fn stop(mut self, grace: Duration) {
        self.hub.stop(grace).await;
        *self.published.lock() = None;
        self.tasks.stop_token().cancel();
        self.tasks.stop(LAST_WORDS).await;
        self.background.shutdown().await;
        self.store.close();
    }
}
