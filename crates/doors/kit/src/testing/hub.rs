//! [`TestHub`]: a hub with the doors that the test opens, and a server on a free port.
//!
//! ```ignore
//! let mut builder = TestSettings::default().prepare().await;
//! builder.open(jackfield_mcp::Config).await;
//! let hub = builder.start();
//! ```

use std::{fmt, io, net::SocketAddr, ops::Deref, path::Path, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use http::Uri;
use jackfield_core::{
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::{Store, memory::MemoryStore},
    token::TokenLookup,
};
use jackfield_model::Owner;
use reqwest::Method;
use tokio::{net::TcpListener, task::JoinSet};
use utoipa::openapi::{Info, OpenApi, Paths};

use super::{
    AgentBuilder, CALLBACK_KEY, SOON, Scripted, TestClient, TestServer, WsClient, judge_by,
};
use crate::{
    auth::{Gatekeeper, Ingress},
    door::{DoorConfig, DoorContext, HubEndpoint, OpenedDoor, SecretStore, SocketProtocol},
    files::{FileKey, Files},
    guard::HostRules,
    outbound::{Outbound, OutboundRules},
    outbox::{CallbackKey, Composer, Courier},
    schemas::MessageSchemas,
    server::{Server, ServerLimits},
    tasks::Tasks,
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionParts},
};

/// The version that a [`TestHub`] reports.
const VERSION: &str = "1.2.3";

/// The settings of a [`TestHub`].
#[derive(Debug, Clone)]
pub struct TestSettings {
    /// The store, possibly with the data of an earlier hub.
    pub store: Arc<dyn Store>,
    /// The limits of the hub and of its server.
    pub limits: Limits,
    /// Whether a client without a token acts for the owner `local`, as on loopback.
    pub trusts_everyone: bool,
    /// Which addresses the hub may send requests to.
    pub outbound: OutboundRules,
    /// Public URL that the hub tells its doors; its own address if `None`.
    pub public_url: Option<String>,
    /// Origins of web pages that may use the hub.
    pub allowed_origins: Vec<String>,
    /// Whether the hub offers files under links.
    pub has_file_links: bool,
    /// Whether the clocks of the hub run ([`Hub::sweep_forever`]).
    pub has_clocks: bool,
}

impl Default for TestSettings {
    fn default() -> Self {
        Self {
            store: Arc::new(MemoryStore::default()),
            limits: Limits::default(),
            trusts_everyone: true,
            outbound: OutboundRules::default(),
            public_url: None,
            allowed_origins: Vec::new(),
            has_file_links: false,
            has_clocks: false,
        }
    }
}

impl TestSettings {
    /// Creates a hub that doors can open in.
    pub async fn prepare(self) -> TestHubBuilder {
        let hub = Hub::open(self.store.clone(), self.limits.clone());
        let hub = hub.await.unwrap();
        self.prepare_with(hub).await
    }

    /// Uses a hub that the test has created, such as one with teams.
    pub async fn prepare_with(self, hub: Hub) -> TestHubBuilder {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bound = listener.local_addr().unwrap();
        let url = format!("http://{bound}");
        let files = Files::for_hub(&hub);
        if self.has_file_links {
            files.serve_at(&url, FileKey::new("file key"));
        }
        let hosts = HostRules {
            listen: vec![bound],
            allowed_origins: self.allowed_origins,
            ..HostRules::default()
        };
        let context = DoorContext {
            remotes: Vec::new().into(),
            hosts: Arc::new(hosts),
            gatekeeper: Gatekeeper::new(hub.clone(), self.trusts_everyone),
            hub,
            tasks: Tasks::new(),
            outbound: Outbound::new(&self.outbound).unwrap(),
            allow_private_outbound: self.outbound.allow_private,
            files,
            store: self.store,
            secrets: Arc::new(FixedSecrets),
            address: HubEndpoint {
                configured: bound,
                bound,
                base_url: Some(self.public_url.unwrap_or(url)),
                tls: None,
            },
            version: VERSION,
        };
        TestHubBuilder {
            context,
            routes: Router::new(),
            api: OpenApi::new(Info::default(), Paths::new()),
            listener,
            socket: None,
            composers: Vec::new(),
            schemas: Vec::new(),
            has_clocks: self.has_clocks,
        }
    }
}

/// A hub that is not serving yet.
pub struct TestHubBuilder {
    /// What every door receives.
    pub context: DoorContext,
    /// The description of the routes so far.
    pub api: OpenApi,
    routes: Router,
    listener: TcpListener,
    socket: Option<Arc<dyn SocketProtocol>>,
    composers: Vec<Arc<dyn Composer>>,
    schemas: Vec<MessageSchemas>,
    has_clocks: bool,
}

impl fmt::Debug for TestHubBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestHubBuilder")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl TestHubBuilder {
    /// Opens a door as a hub does, and returns its handle.
    pub async fn open<C: DoorConfig>(&mut self, config: C) -> C::Handle {
        let door = config.open(&self.context).await.unwrap();
        self.add(door)
    }

    /// Adds an open door, and returns its handle.
    pub fn add<H>(&mut self, door: OpenedDoor<H>) -> H {
        self.add_routes(door.routes);
        self.add_api(door.api);
        self.socket = door.socket.or_else(|| self.socket.take());
        self.composers.extend(door.composer);
        self.schemas.extend(door.schemas);
        door.handle
    }

    /// Adds routes that no door opens.
    pub fn add_routes(&mut self, routes: Router) {
        self.routes = std::mem::take(&mut self.routes).merge(routes);
    }

    /// Adds the description of routes; the first one gives the head of the description.
    pub fn add_api(&mut self, api: OpenApi) {
        if self.api.paths.paths.is_empty() {
            self.api = api;
        } else {
            self.api.merge(api);
        }
    }

    /// Starts the server, the clocks and the delivery of callbacks.
    pub fn start(self) -> TestHub {
        judge_by(&self.schemas);
        let DoorContext {
            hub,
            gatekeeper,
            tasks,
            outbound,
            files,
            ..
        } = self.context;
        let mut app = self.routes;
        if let Some(socket) = self.socket {
            app = app.merge(socket_route(socket, hub.clone(), tasks.clone()));
        }
        if !self.composers.is_empty() {
            let key = CallbackKey::new(CALLBACK_KEY);
            let courier = Courier::new(hub.clone(), outbound, key);
            let courier = self.composers.into_iter().fold(courier, Courier::with);
            courier.start(&tasks);
        }
        let mut clocks = JoinSet::new();
        if self.has_clocks {
            let swept = hub.clone();
            clocks.spawn(async move { swept.sweep_forever().await });
        }
        let limits = ServerLimits::from(hub.limits());
        let server = TestServer::start_on(self.listener, tasks, SOON, |listener, tasks| {
            Server::new(vec![listener], app, tasks)
                .with_limits(limits)
                .with_gatekeeper(gatekeeper)
        });
        TestHub {
            addr: server.addr,
            hub,
            files,
            tasks: server.tasks.clone(),
            client: TestClient::new(format!("http://{}", server.addr)),
            _server: server,
            _clocks: clocks,
        }
    }
}

/// Returns the route `/ws` for one protocol.
fn socket_route(socket: Arc<dyn SocketProtocol>, hub: Hub, tasks: Tasks) -> Router {
    let open = move |url: Uri, came: Ingress, upgrade: Upgrade| async move {
        // Clients of the harness are trusted, unless they show a ticket.
        let came = if came.has_ticket() {
            came
        } else {
            Ingress::Directly
        };
        let parts = WsConnectionParts {
            hub,
            door: socket.door(),
            stop: tasks.stop_token().clone(),
            peer: None,
            token: None,
            came,
        };
        WsConnection::open(upgrade, &tasks, parts, move |line| socket.run(line, &url))
    };
    Router::new().route("/ws", get(open))
}

/// A hub with its server, and a client without a token, whose methods are methods of the hub. Dropping it ends
/// the server.
#[derive(Debug)]
pub struct TestHub {
    /// The address of the server.
    pub addr: SocketAddr,
    /// The hub itself.
    pub hub: Hub,
    /// The files under links.
    pub files: Arc<Files>,
    /// The tasks of the hub.
    pub tasks: Tasks,
    /// A client without a token.
    pub client: TestClient,
    _server: TestServer,
    _clocks: JoinSet<()>,
}

impl Deref for TestHub {
    type Target = TestClient;

    fn deref(&self) -> &TestClient {
        &self.client
    }
}

impl TestHub {
    /// Checks all answers to `client` against the hub's own `/openapi.json`.
    #[must_use]
    pub async fn with_own_spec(mut self) -> Self {
        let token = self.token("root", &["admin"]).await;
        let request = self.ask(Method::GET, "/openapi.json").bearer_auth(token);
        let (_, spec) = super::answer(request).await;
        self.client = self.client.with_spec(spec);
        self
    }

    /// Stops the hub as SIGTERM would. Fails if a task has to be dropped.
    pub async fn stop(&self) {
        self.hub.stop(Duration::ZERO).await;
        assert_eq!(self.tasks.stop(SOON).await, 0, "nobody has to be killed");
    }

    /// Opens a WebSocket.
    pub async fn connect(&self, path: &str) -> WsClient {
        WsClient::connect(self.addr, path).await
    }

    /// Creates a token for an owner.
    pub async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        create_token(&self.hub, owner, scopes).await
    }

    /// Returns whom a token authenticates.
    pub fn principal_of(&self, token: &str) -> Principal {
        match self.hub.tokens().look_up(token) {
            TokenLookup::Valid(principal) => principal,
            other => panic!("{other:?}"),
        }
    }

    /// Attaches an agent of `local` with an empty profile.
    pub fn attach(&self, id: &str) -> Scripted {
        self.agent(id).attach()
    }

    /// Attaches an agent of a principal, with an empty profile.
    pub fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        self.agent(id).of(principal).attach()
    }

    /// Returns a builder for an agent of `local`.
    pub fn agent(&self, id: &str) -> AgentBuilder<'_> {
        AgentBuilder::new(&self.hub, id)
    }

    /// Returns a number of the hub's metrics; 0 if it was never counted.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.hub.metrics().render();
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.map_or(0, |count| count.trim().parse().unwrap())
    }
}

/// Creates a token for an owner.
pub async fn create_token(hub: &Hub, owner: &str, scopes: &[&str]) -> String {
    let owner = Owner::parse(owner).unwrap();
    let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
    let new = hub.tokens().create("t".into(), owner, &scopes, None);
    new.await.unwrap().secret
}

/// Secrets that are the same in every test.
#[derive(Debug)]
struct FixedSecrets;

impl SecretStore for FixedSecrets {
    fn load_or_create(&self, _: &str) -> io::Result<String> {
        Ok("5c".repeat(32))
    }

    fn load(&self, _: &str) -> io::Result<Option<String>> {
        Ok(None)
    }

    fn folder(&self) -> &Path {
        Path::new("secrets")
    }
}
