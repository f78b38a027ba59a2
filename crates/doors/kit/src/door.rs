//! The contract between a hub and its doors. A door is one protocol, both ways: callers that come in by it, and agents that are
//! reached by it.
//!
//! Each door crate has a type `Config` in its `config.rs`: the door's section of the hub's configuration. It implements
//! [`Open`]. The hub gives every door the same [`Context`] and takes an [`Opened`] from it:
//!
//! 1. The hub reads its configuration. Each section checks itself and answers with a [`ConfigError`].
//! 2. The hub binds its address, opens its store, and makes one [`Context`].
//! 3. It calls [`Open::open`] of each door in turn.
//! 4. It merges the routes and their descriptions, offers connections at `/ws` to each [`Socket`], and lets each [`Composer`]
//!    write the callbacks of its door.

use std::{error::Error, fmt, io, net::SocketAddr, path::Path, sync::Arc};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_core::{hub::Hub, store::Store};
use jackfield_model::Failure;
use utoipa::openapi::{Info, OpenApi, Paths};

use crate::{
    auth::Gatekeeper,
    line::{Line, Step},
    outbound::Outbound,
    outbox::Composer,
    tasks::Tasks,
    tls::Tls,
};

/// What a hub gives to each of its doors. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Context {
    /// The hub: agents, calls and tasks.
    pub hub: Hub,
    /// Finds out who a connection or a request belongs to, and who needs no token.
    pub gatekeeper: Gatekeeper,
    /// Where a door runs its connections and background work. They stop with the hub.
    pub tasks: Tasks,
    /// The client for URLs that callers, agents or operators name.
    pub outbound: Outbound,
    /// Whether such URLs may lead to this machine and to private networks.
    pub allow_private_outbound: bool,
    /// Where a door keeps what must survive a restart.
    pub store: Arc<dyn Store>,
    /// The hub's secrets.
    pub secrets: Arc<dyn Secrets>,
    /// Where the hub is.
    pub address: Address,
    /// The hub's version, for people.
    pub version: &'static str,
}

/// Where a hub is.
#[derive(Debug, Clone)]
pub struct Address {
    /// The address that the configuration names. Its port is 0 if any free port will do.
    pub configured: SocketAddr,
    /// The address that the hub listens on.
    pub bound: SocketAddr,
    /// The URL under which others reach the hub. Nothing if the hub listens on all addresses and nobody told it its URL.
    pub base_url: Option<String>,
    /// The hub's certificate, if it serves TLS.
    pub tls: Option<Tls>,
}

/// The hub's secrets, each known by its name.
pub trait Secrets: fmt::Debug + Send + Sync {
    /// Reads a secret, or makes it if there is none.
    fn load_or_create(&self, name: &str) -> io::Result<String>;

    /// Reads a secret, if there is one.
    fn load(&self, name: &str) -> io::Result<Option<String>>;

    /// The folder that holds the secrets, each in a file of its name.
    fn folder(&self) -> &Path;
}

/// The configuration of a door.
pub trait Open {
    /// What the hub can do with the open door besides what every door gives; mostly nothing.
    type Handle;

    /// Opens the door: it serves as soon as the hub does.
    fn open(
        self,
        context: &Context,
    ) -> impl Future<Output = Result<Opened<Self::Handle>, OpenError>> + Send;
}

/// What an open door adds to its hub. Every part is optional.
pub struct Opened<H = ()> {
    /// See [`Open::Handle`].
    pub handle: H,
    /// The door's HTTP routes.
    pub routes: Router,
    /// The description of those routes that belong to the hub's own API.
    pub api: OpenApi,
    /// The door's protocol at the WebSocket address `/ws`, which doors share.
    pub socket: Option<Arc<dyn Socket>>,
    /// What writes the door's callbacks.
    pub composer: Option<Arc<dyn Composer>>,
    /// What reads the door's secrets again when the operator asks for it.
    pub reload: Option<Arc<dyn Reload>>,
}

impl<H: fmt::Debug> fmt::Debug for Opened<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("handle", &self.handle)
            .field("socket", &self.socket)
            .field("composer", &self.composer)
            .field("reload", &self.reload)
            .finish_non_exhaustive()
    }
}

impl<H> Opened<H> {
    /// A door that adds nothing yet.
    pub fn new(handle: H) -> Self {
        Self {
            handle,
            routes: Router::new(),
            api: OpenApi::new(Info::default(), Paths::new()),
            socket: None,
            composer: None,
            reload: None,
        }
    }

    /// Adds routes and the description of those that belong to the hub's own API.
    #[must_use]
    pub fn with_routes(mut self, (routes, api): (Router, OpenApi)) -> Self {
        self.routes = self.routes.merge(routes);
        self.api.merge(api);
        self
    }
}

/// A protocol at the WebSocket address that doors share.
pub trait Socket: fmt::Debug + Send + Sync {
    /// The name of the door.
    fn door(&self) -> &'static str;

    /// Whether a connection to this URL speaks the protocol, whatever it sends. Fails if the URL cannot be read.
    fn claims_url(&self, url: &Uri) -> Result<bool, Failure>;

    /// Whether a connection that begins like this speaks the protocol.
    fn claims_first(&self, first: &Step) -> bool;

    /// Runs a connection to this URL until it ends.
    fn run(self: Arc<Self>, line: Line, url: &Uri) -> BoxFuture<'static, ()>;
}

/// Something that reads secrets of the operator.
pub trait Reload: fmt::Debug + Send + Sync {
    /// Reads the secrets again. Those in use stay if that fails.
    fn reload(&self) -> Result<(), OpenError>;
}

/// Why a door cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct OpenError {
    /// What failed, and what to do.
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl OpenError {
    /// Something failed because of `source`.
    pub fn new(text: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            text: text.into(),
            source: Some(source.into()),
        }
    }
}

impl From<ConfigError> for OpenError {
    fn from(error: ConfigError) -> Self {
        Self {
            text: error.0,
            source: None,
        }
    }
}

/// What is wrong with a setting. The text names its key.
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
