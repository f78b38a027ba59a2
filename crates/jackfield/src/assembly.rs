//! A hub put together: store, core, doors, server. `serve` runs it, and so does the testkit on port 0.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::Router;
use jackfield_agora::Agora;
use jackfield_core::{hub::Hub, id::Owner, principal::Scopes, token::Lookup};
use jackfield_kit::{
    auth::Gatekeeper,
    guard::{Guard, HostRules},
    server::{Server, ServerLimits},
    tasks::Tasks,
    tls::Tls,
};
use jackfield_own::OwnState;
use jackfield_store::{SqliteStore, secrets};
use tokio::{net::TcpListener, task::JoinSet};

use crate::config::Config;

/// How long open connections are given once all calls have ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The file of the first administrator's token, for hubs that trust nobody by address.
pub const ADMIN_TOKEN: &str = "admin-token";
/// The file of the secret that the platform shows.
pub const PLATFORM_SECRET: &str = "platform-secret";
/// The file of the key that signs callbacks.
pub const CALLBACK_KEY: &str = "callback-key";

/// A hub that is running.
#[derive(Debug)]
pub struct Running {
    /// The address it listens on.
    pub addr: SocketAddr,
    /// The hub itself.
    pub hub: Hub,
    store: Arc<SqliteStore>,
    tasks: Tasks,
    tls: Option<Tls>,
    background: JoinSet<()>,
}

/// Starts a hub; it serves when this returns.
pub async fn start(config: &Config) -> Result<Running> {
    let store = Arc::new(open_store(&config.data_dir)?);
    // Made at the first start, so that it is there when the first platform asks for it.
    secret(&config.data_dir, PLATFORM_SECRET)?;
    secret(&config.data_dir, CALLBACK_KEY)?;
    let hub = Hub::open(store.clone(), config.limits.clone())
        .await
        .context("cannot read the database")?;
    if !config.trusts_everyone() {
        first_admin(&hub, &config.data_dir).await?;
    }
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
    let tasks = Tasks::new();
    let limits = ServerLimits {
        max_connections: config.limits.connections,
        ..ServerLimits::default()
    };
    let mut server = Server::new(
        vec![listener],
        router(config, addr, &hub, &tasks)?,
        tasks.clone(),
    )
    .with_limits(limits);
    if let Some(tls) = &tls {
        server = server.with_tls(tls.clone());
    }
    let mut background = JoinSet::new();
    let sweeper = hub.clone();
    background.spawn(async move { sweeper.sweep_forever().await });
    background.spawn(async move {
        server.run(LAST_WORDS).await;
    });
    Ok(Running {
        addr,
        hub,
        store,
        tasks,
        tls,
        background,
    })
}

fn open_store(data_dir: &Path) -> Result<SqliteStore> {
    SqliteStore::open(data_dir)
        .with_context(|| format!("cannot open the data directory {}", data_dir.display()))
}

fn secret(data_dir: &Path, name: &str) -> Result<secrets::Secret> {
    secrets::load_or_create(data_dir, name)
        .with_context(|| format!("cannot read or make the secret {name}"))
}

/// A hub that trusts nobody by address needs somebody who may make tokens.
async fn first_admin(hub: &Hub, data_dir: &Path) -> Result<()> {
    let secret = secret(data_dir, ADMIN_TOKEN)?;
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
    Ok(())
}

fn router(config: &Config, addr: SocketAddr, hub: &Hub, tasks: &Tasks) -> Result<Router> {
    let gatekeeper = Gatekeeper::new(hub.clone(), config.trusts_everyone());
    let rules = HostRules {
        listen: vec![addr],
        public_url: config.public_url.as_deref().map(str::parse).transpose()?,
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
    };
    let agora = jackfield_agora::router(Agora::new(hub.clone(), gatekeeper.clone(), tasks.clone()));
    let (own, api) = jackfield_own::router(OwnState {
        hub: hub.clone(),
        gatekeeper: gatekeeper.clone(),
        version: env!("CARGO_PKG_VERSION"),
        stop: tasks.stop_token().clone(),
    });
    let api = jackfield_own::openapi_route(gatekeeper, api);
    Ok(agora.merge(own).merge(api).layer(Guard::new(rules)))
}

impl Running {
    /// Reads the TLS files again.
    pub fn reload(&self) -> Result<()> {
        match &self.tls {
            Some(tls) => tls.reload().context("the TLS files were not changed"),
            None => Ok(()),
        }
    }

    /// Stops: takes no more calls, gives the open ones `grace`, tells everybody, closes.
    pub async fn stop(mut self, grace: Duration) {
        self.hub.stop(grace).await;
        self.tasks.stop_token().cancel();
        self.tasks.stop(LAST_WORDS).await;
        self.background.shutdown().await;
        self.store.close();
    }
}
