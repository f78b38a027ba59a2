//! A hub put together: store, core, doors, server. `jackfield serve` runs it, and so does the testkit on port 0.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use axum::Router;
use jackfield_core::{hub::Hub, principal::Scopes, store::Store, token::TokenLookup};
use jackfield_kit::{
    auth::Gatekeeper,
    door::{self, Context, Reload, Secrets},
    guard::{Guard, HostRules},
    outbox::Courier,
    server::{Server, ServerLimits},
    tasks::Tasks,
    tls::Tls,
};
use jackfield_model::Owner;
use jackfield_own::proof::ProofKey;
#[cfg(feature = "p2p")]
use jackfield_p2p::P2p;
use jackfield_store::{
    SqliteStore,
    secrets::{self, Secret},
};
use jackfield_team::Teams;
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    address::{Address, Published},
    callbacks,
    config::{self, Config},
    doors::Doors,
    exposure, files, signpost,
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
    reload: Vec<Arc<dyn Reload>>,
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
    // First, so that a hub that cannot listen leaves nothing in its data directory.
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; is another hub running? (--listen ADDR chooses another address)",
            config.listen
        )
    })?;
    let addr = listener.local_addr()?;
    let tls = match &config.tls {
        Some(files) => {
            Some(Tls::load(&files.cert, &files.key).context("cannot use the TLS files")?)
        }
        None => None,
    };
    let store = Arc::new(open_store(&config.data_dir)?);
    let (outbound, key) = (callbacks::outbound(config)?, callbacks::key(config)?);
    let teams = Teams::open(store.clone(), config.limits.clone())
        .await
        .context("cannot read the database")?;
    let hub = teams.hub().clone();
    let proof_key = proof_key(&hub, config).await?;
    files::serve(&hub, config, addr)?;
    let gatekeeper = Gatekeeper::new(hub.clone(), config.trust());
    let gatekeeper = match exposure::proxy_warning(config, addr) {
        Some(warning) => gatekeeper.with_proxy_warning(warning),
        None => gatekeeper,
    };
    let context = Context {
        gatekeeper,
        hub: hub.clone(),
        tasks: Tasks::new(),
        outbound: outbound.clone(),
        allow_private_outbound: config.allow_private_outbound,
        store: store.clone() as Arc<dyn Store>,
        secrets: Arc::new(DataDir(config.data_dir.clone())),
        address: door::Address {
            configured: config.listen,
            bound: addr,
            base_url: files::base(config, addr),
            tls: tls.clone(),
        },
        version: env!("CARGO_PKG_VERSION"),
    };
    let doors = Doors::open(config, proof_key, teams, &context).await?;
    let router = guarded(config, addr, doors.router)?;
    let tasks = context.tasks;
    let mut courier = Courier::new(hub.clone(), outbound, key);
    for composer in doors.composers {
        courier = courier.with(composer);
    }
    courier.start(&tasks);
    let mut server = Server::new(vec![listener], router, tasks.clone())
        .with_limits(ServerLimits::from(&config.limits))
        .with_gatekeeper(context.gatekeeper);
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
        reload: doors.reload,
        #[cfg(feature = "p2p")]
        p2p: doors.p2p,
        tasks,
        tls,
        published: Mutex::new(published),
        background,
    })
}

/// Answers requests at unknown paths, and refuses those for other hosts and of foreign web pages.
fn guarded(config: &Config, addr: SocketAddr, router: Router) -> Result<Router> {
    let rules = HostRules {
        listen: vec![addr],
        public_url: config.public_url.as_deref().map(str::parse).transpose()?,
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
    };
    let router = router.fallback(signpost::nowhere);
    Ok(router.layer(Guard::new(rules)))
}

/// The hub's secrets: files of the data directory.
#[derive(Debug)]
struct DataDir(PathBuf);

impl Secrets for DataDir {
    fn load_or_create(&self, name: &str) -> io::Result<String> {
        let secret = secrets::load_or_create(&self.0, name)?;
        Ok(secret.expose().to_owned())
    }

    fn load(&self, name: &str) -> io::Result<Option<String>> {
        let secret = secrets::load(&self.0, name)?;
        Ok(secret.map(|secret| secret.expose().to_owned()))
    }

    fn folder(&self) -> &Path {
        &self.0
    }
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

/// What the hub proves itself with. One that needs no token from its own user has it only if the data directory holds an
/// administrator's token that works: commands find that token, and must be able to tell whom they show it to.
async fn proof_key(hub: &Hub, config: &Config) -> Result<Option<ProofKey>> {
    let data_dir = &config.data_dir;
    // One that cannot be read is no reason not to start where none is needed; `doctor` tells of it.
    if config.trusts_everyone() && !matches!(secrets::load(data_dir, ADMIN_TOKEN), Ok(Some(_))) {
        return Ok(None);
    }
    let secret = first_admin(hub, data_dir).await?;
    let works = matches!(hub.tokens().look_up(secret.expose()), TokenLookup::Valid(_));
    let is_needed = !config.trusts_everyone();
    Ok((works || is_needed).then(|| ProofKey::new(secret.expose())))
}

/// A hub that trusts nobody without a token needs somebody who may make some.
async fn first_admin(hub: &Hub, data_dir: &Path) -> Result<Secret> {
    let secret = secrets::load_or_create(data_dir, ADMIN_TOKEN)
        .with_context(|| format!("cannot read or make the secret {ADMIN_TOKEN}"))?;
    if let TokenLookup::Unknown = hub.tokens().look_up(secret.expose()) {
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

impl Running {
    /// The hub as a peer among peers, if it is one.
    #[cfg(feature = "p2p")]
    pub fn p2p(&self) -> Option<&P2p> {
        self.p2p.as_ref()
    }

    /// Reads the TLS files and the doors' secrets again.
    pub fn reload(&self) -> Result<()> {
        for door in &self.reload {
            door.reload()?;
        }
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
