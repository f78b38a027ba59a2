//! The contract between a hub and its doors. A door is one protocol, both ways: for incoming callers, and for
//! the agents that the hub reaches.
//!
//! Each door crate has a type `Config` in its `config.rs`: the door's section of the hub's configuration,
//! which implements [`DoorConfig`]. The hub gives every door the same [`DoorContext`] and receives an [`OpenedDoor`]:
//!
//! 1. The hub reads its configuration. Each section checks itself and may fail with a [`ConfigError`].
//! 2. The hub binds its address, opens its store, and creates one [`DoorContext`].
//! 3. The hub calls [`DoorConfig::open`] of each door in turn.
//! 4. The hub merges the routes, their descriptions and the schemas of messages, offers connections at `/ws` to each [`SocketProtocol`],
//!    lets each [`Composer`] write the callbacks of its door, and each [`Dialler`] dial the remotes of its protocol.

use std::{error::Error, fmt, io, net::SocketAddr, path::Path, sync::Arc};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_core::{hub::Hub, store::Store};
use jackfield_model::Failure;
use utoipa::openapi::{Info, OpenApi, Paths};

use crate::{
    auth::Gatekeeper,
    dial::{DialTarget, Dialler},
    files::Files,
    guard::{BodyRules, BrowserHeaders, HostRules},
    outbound::Outbound,
    outbox::Composer,
    schemas::MessageSchemas,
    tasks::Tasks,
    tls::Tls,
    ws_connection::{WsConnection, WsConnectionEvent},
};

/// Handles of the hub that every door receives. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DoorContext {
    /// The hub: agents, calls and tasks.
    pub hub: Hub,
    /// Authenticates connections and requests, and knows which clients need no token.
    pub gatekeeper: Gatekeeper,
    /// Host names of the hub, and origins of web pages that may use the hub.
    pub hosts: Arc<HostRules>,
    /// Tasks for the door's connections and background work. They stop with the hub.
    pub tasks: Tasks,
    /// Client for URLs chosen by callers, agents or operators.
    pub outbound: Outbound,
    /// Whether outgoing requests may reach this machine and private networks.
    pub allow_private_outbound: bool,
    /// Files under links, for protocols that know only links.
    pub files: Arc<Files>,
    /// Store for the door's data that must survive a restart.
    pub store: Arc<dyn Store>,
    /// Secrets of the hub.
    pub secrets: Arc<dyn SecretStore>,
    /// Remotes of the configuration file, each with its protocol named; see [`DoorContext::configured_remotes`].
    pub remotes: Arc<[DialTarget]>,
    /// Network addresses and public URL of the hub.
    pub address: HubEndpoint,
    /// Version of the hub, for display.
    pub version: &'static str,
}

impl DoorContext {
    /// Returns the remotes of the configuration file that a door dials. The hub has checked them by the door's
    /// [`RemoteProtocol`](crate::dial::RemoteProtocol). They belong to the owner `local`.
    pub fn configured_remotes(&self, door: &str) -> impl Iterator<Item = &DialTarget> {
        let remotes = self.remotes.iter();
        remotes.filter(move |remote| remote.protocol.as_deref() == Some(door))
    }
}

/// The addresses of a hub.
#[derive(Debug, Clone)]
pub struct HubEndpoint {
    /// Address in the configuration; port 0 selects any free port.
    pub configured: SocketAddr,
    /// Address that the hub listens on.
    pub bound: SocketAddr,
    /// Public URL of the hub. `None` if the hub listens on all addresses and the configuration names no URL.
    pub base_url: Option<String>,
    /// Certificate of the hub, if the hub serves TLS.
    pub tls: Option<Tls>,
}

/// Secrets of the hub by name.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Reads a secret, or creates a missing one.
    fn load_or_create(&self, name: &str) -> io::Result<String>;

    /// Reads a secret; returns `None` if the secret does not exist.
    fn load(&self, name: &str) -> io::Result<Option<String>>;

    /// Returns the folder of the secrets, where each file has the name of its secret.
    fn folder(&self) -> &Path;
}

/// The configuration of a door, ready to open the door.
pub trait DoorConfig {
    /// Extra handle to the open door for the hub, beyond [`OpenedDoor`]; mostly `()`.
    type Handle;

    /// Opens the door, which serves as soon as the hub does.
    fn open(
        self,
        context: &DoorContext,
    ) -> impl Future<Output = Result<OpenedDoor<Self::Handle>, DoorOpenError>> + Send;
}

/// The contributions of an open door to its hub. Every part is optional.
pub struct OpenedDoor<H = ()> {
    /// See [`DoorConfig::Handle`].
    pub handle: H,
    /// HTTP routes of the door.
    pub routes: Router,
    /// OpenAPI description of the routes that belong to the hub's own API.
    pub api: OpenApi,
    /// Protocol of the door at the shared WebSocket address `/ws`.
    pub socket: Option<Arc<dyn SocketProtocol>>,
    /// Writer of the door's callbacks.
    pub composer: Option<Arc<dyn Composer>>,
    /// Exceptions of the door's routes from the check of content types.
    pub bodies: BodyRules,
    /// Headers of the door's protocol that web pages of listed origins send and read.
    pub browser_headers: BrowserHeaders,
    /// Reloads the door's secrets at the operator's request.
    pub reload: Option<Arc<dyn ReloadSecrets>>,
    /// Dials remotes of the door's protocol.
    pub dialler: Option<Arc<dyn Dialler>>,
    /// Schemas of the door's WebSocket frames and stream events.
    pub schemas: Vec<MessageSchemas>,
}

impl<H: fmt::Debug> fmt::Debug for OpenedDoor<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("handle", &self.handle)
            .field("socket", &self.socket)
            .field("composer", &self.composer)
            .field("reload", &self.reload)
            .field("dialler", &self.dialler)
            .finish_non_exhaustive()
    }
}

impl<H> OpenedDoor<H> {
    /// Creates a door without any of the optional parts.
    pub fn new(handle: H) -> Self {
        Self {
            handle,
            routes: Router::new(),
            api: OpenApi::new(Info::default(), Paths::new()),
            socket: None,
            composer: None,
            bodies: BodyRules::default(),
            browser_headers: BrowserHeaders::default(),
            reload: None,
            dialler: None,
            schemas: Vec::new(),
        }
    }

    /// Adds routes, and the description of the routes that belong to the hub's own API.
    #[must_use]
    pub fn with_routes(mut self, (routes, api): (Router, OpenApi)) -> Self {
        self.routes = self.routes.merge(routes);
        self.api.merge(api);
        self
    }
}

/// A protocol at the shared WebSocket address.
pub trait SocketProtocol: fmt::Debug + Send + Sync {
    /// Returns the name of the door.
    fn door(&self) -> &'static str;

    /// Returns whether the URL alone identifies the protocol, regardless of the first frame. Fails if the URL
    /// is unreadable.
    fn claims_url(&self, url: &Uri) -> Result<bool, Failure>;

    /// Returns whether the first event of a connection identifies the protocol.
    fn claims_first(&self, first: &WsConnectionEvent) -> bool;

    /// Runs a connection to `url` until its end.
    fn run(self: Arc<Self>, line: WsConnection, url: &Uri) -> BoxFuture<'static, ()>;
}

/// A component that reads secrets of the operator.
pub trait ReloadSecrets: fmt::Debug + Send + Sync {
    /// Reads the secrets again. On failure the current ones stay in use.
    fn reload(&self) -> Result<(), DoorOpenError>;
}

/// The reason why a door cannot open.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct DoorOpenError {
    /// Failed step and remedy.
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl DoorOpenError {
    /// Creates an error with a text and its cause.
    pub fn new(text: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            text: text.into(),
            source: Some(source.into()),
        }
    }
}

impl From<ConfigError> for DoorOpenError {
    fn from(error: ConfigError) -> Self {
        Self {
            text: error.0,
            source: None,
        }
    }
}

/// An invalid setting. The text names its key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Checks that the setting `key` is an HTTP URL with a host.
pub fn check_url(key: &str, url: &str) -> Result<(), ConfigError> {
    let uri: Uri = url
        .parse()
        .map_err(|error| ConfigError(format!("{key} {url:?} is not a URL: {error}")))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        let text = format!("{key} {url:?} must begin with http:// or https:// and name a host");
        return Err(ConfigError(text));
    }
    Ok(())
}
