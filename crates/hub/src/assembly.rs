//! Assembles and starts a hub: store, core, doors, server. `jackfield serve` calls [`start`], and the testkit
//! does on port 0.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use jackfield_core::{hub::Hub, principal::Scopes, store::Store, token::TokenLookup};
use jackfield_kit::{
    auth::Gatekeeper,
    door::{self, DoorContext, ReloadSecrets, SecretStore},
    files::Files,
    guard::{Guard, HostRules},
    outbox::Courier,
    schemas::MessageSchemas,
    server::{Server, ServerLimits, listen},
    tasks::Tasks,
    tls::Tls,
};
use jackfield_model::Owner;
use jackfield_own::proof::ProofKey;
#[cfg(feature = "p2p")]
use jackfield_p2p::P2p;
use jackfield_store::{
    SqliteStore,
    secrets::{self, HubSecret},
};
use jackfield_team::Teams;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{
    address::{AddressFile, LocalHubAddress},
    callbacks,
    config::{self, HubConfig},
    doors::Doors,
    exposure, files, not_found,
};

/// Time that open connections get to close after all calls have ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Name of the secret file with the first administrator's token, for hubs that require tokens.
pub const ADMIN_TOKEN: &str = "admin-token";

/// A running hub.
#[derive(Debug)]
pub struct RunningHub {
    /// Address that the hub listens on.
    pub addr: SocketAddr,
    /// Handle to the [`Hub`].
    pub hub: Hub,
    config: HubConfig,
    store: Arc<SqliteStore>,
    reload: Vec<Arc<dyn ReloadSecrets>>,
    schemas: Vec<MessageSchemas>,
    #[cfg(feature = "p2p")]
    p2p: Option<P2p>,
    tasks: Tasks,
    tls: Option<Tls>,
    /// Address file through which commands of this user find the hub; `None` if writing the file failed.
    published: Mutex<Option<AddressFile>>,
    background: JoinSet<()>,
}

/// Starts a hub. The hub accepts connections when this function returns.
pub async fn start(config: &HubConfig) -> Result<RunningHub> {
    // Bind first: a hub that cannot listen leaves no files in its data directory.
    let listener = listen(config.listen).with_context(|| {
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
    let (outbound, key) = (
        callbacks::outbound(config)?,
        callbacks::signing_key(config)?,
    );
    let linked = Arc::new(Files::new(&config.limits));
    let teams = Teams::open_with(
        store.clone(),
        config.limits.clone(),
        config.team_limits.clone(),
        linked.clone(),
    )
    .await
    .context("cannot read the database")?;
    let hub = teams.hub().clone();
    let proof_key = proof_key(&hub, config).await?;
    hub.observe(linked.clone());
    files::enable_links(&linked, config, addr)?;
    let gatekeeper = Gatekeeper::new(hub.clone(), config.trust());
    let gatekeeper = match exposure::proxy_warning(config, addr) {
        Some(warning) => gatekeeper.with_proxy_warning(warning),
        None => gatekeeper,
    };
    let hosts = Arc::new(host_rules(config, addr)?);
    let context = DoorContext {
        gatekeeper,
        hosts: hosts.clone(),
        hub: hub.clone(),
        tasks: Tasks::new(),
        outbound: outbound.clone(),
        allow_private_outbound: config.allow_private_outbound,
        files: linked,
        store: store.clone() as Arc<dyn Store>,
        secrets: Arc::new(DataDirSecrets(config.data_dir.clone())),
        remotes: config.remotes()?.into(),
        address: door::HubEndpoint {
            configured: config.listen,
            bound: addr,
            base_url: files::base_url(config, addr),
            tls: tls.clone(),
        },
        version: env!("CARGO_PKG_VERSION"),
    };
    let doors = Doors::open(config, proof_key, teams, &context).await?;
    let guard = Guard::new(hosts)
        .with_bodies(doors.bodies)
        .with_browser_headers(&doors.browser_headers);
    let router = doors.router.fallback(not_found::answer_not_found);
    let router = router.layer(guard);
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
        server.run(CLOSE_TIMEOUT).await;
    });
    Ok(RunningHub {
        addr,
        hub,
        config: config.clone(),
        store,
        reload: doors.reload,
        schemas: doors.schemas,
        #[cfg(feature = "p2p")]
        p2p: doors.p2p,
        tasks,
        tls,
        published: Mutex::new(published),
        background,
    })
}

/// Returns the host names of a hub that listens on `addr`, and the origins of web pages that may use the hub.
fn host_rules(config: &HubConfig, addr: SocketAddr) -> Result<HostRules> {
    Ok(HostRules {
        listen: vec![addr],
        public_url: config.public_url.as_deref().map(str::parse).transpose()?,
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
    })
}

/// Secrets of the hub, stored as files in the data directory.
#[derive(Debug)]
struct DataDirSecrets(PathBuf);

impl SecretStore for DataDirSecrets {
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

/// Writes the address file for commands of this user. A failure is only logged; the hub runs without the
/// file.
fn publish(config: &HubConfig, addr: SocketAddr, tls: Option<&Tls>) -> Option<AddressFile> {
    let published = AddressFile::new(&config.data_dir, &local_address(config, addr, tls));
    published
        .inspect_err(|error| tracing::warn!(%error, "cannot write the hub's address into the data directory"))
        .ok()
}

fn local_address(config: &HubConfig, addr: SocketAddr, tls: Option<&Tls>) -> LocalHubAddress {
    let addr = config::local_addr(addr);
    LocalHubAddress {
        url: config.own_url(addr),
        certificate: tls.map(|tls| tls.fingerprint_at(addr.ip())),
    }
}

fn open_store(data_dir: &Path) -> Result<SqliteStore> {
    SqliteStore::open(data_dir)
        .with_context(|| format!("cannot open the data directory {}", data_dir.display()))
}

/// Returns the key with which the hub proves its identity to commands. A hub that needs no token from its own
/// user has a [`ProofKey`] only if the data directory holds a valid administrator token: commands send this
/// token, and first must know that they talk to the right hub.
async fn proof_key(hub: &Hub, config: &HubConfig) -> Result<Option<ProofKey>> {
    let data_dir = &config.data_dir;
    // An unreadable token must not prevent the start where no token is required; `doctor` reports the
    // problem.
    if config.allows_missing_token() && !matches!(secrets::load(data_dir, ADMIN_TOKEN), Ok(Some(_)))
    {
        return Ok(None);
    }
    let secret = load_or_create_admin_token(hub, data_dir).await?;
    let works = matches!(hub.tokens().look_up(secret.expose()), TokenLookup::Valid(_));
    let is_needed = !config.allows_missing_token();
    Ok((works || is_needed).then(|| ProofKey::new(secret.expose())))
}

/// Loads or creates the first administrator's token. A hub that requires tokens needs one administrator who
/// can create further tokens.
async fn load_or_create_admin_token(hub: &Hub, data_dir: &Path) -> Result<HubSecret> {
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

impl RunningHub {
    /// Returns the schemas of all WebSocket frames and stream events.
    pub fn schemas(&self) -> &[MessageSchemas] {
        &self.schemas
    }

    /// Returns the hub's libp2p node, if the hub is a peer.
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
        tls.reload().context("cannot reload the TLS files")?;
        let address = local_address(&self.config, self.addr, Some(tls));
        match &mut *self.published.lock() {
            Some(published) => published
                .replace(&address)
                .context("cannot write the hub's address into the data directory"),
            None => Ok(()),
        }
    }

    /// Stops the hub: refuses new calls, gives open calls `grace` to end, notifies connected agents, and
    /// closes.
    pub async fn stop(mut self, grace: Duration) {
        self.hub.stop(grace).await;
        *self.published.lock() = None;
        self.tasks.stop_token().cancel();
        self.tasks.stop(CLOSE_TIMEOUT).await;
        self.background.shutdown().await;
        self.store.close();
    }
}
