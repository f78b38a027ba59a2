//! A hub that dials, a server that is dialled, and a clock that stands still.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    response::{Html, IntoResponse as _, Response},
    routing::{get, post},
};
use jackfield_a2a::{RemoteSpec, Remotes, cards_router};
use jackfield_core::{
    call::CallerHandle,
    entry::AgentView,
    hub::{Hub, Request, Wanted},
    limits::Limits,
    principal::Principal,
    store::{Store, memory::MemoryStore},
    tap::{Sight, TapFilter, Watching},
    task::Task,
};
use jackfield_kit::{
    auth::Gatekeeper,
    dial::{self, Dialler},
    outbound::{Outbound, OutboundRules},
    server::Server,
    tasks::Tasks,
    testing::{SOON, soon, spec},
};
use jackfield_model::{AgentId, End, Failure, Message};
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

/// Lets the clock of a test with paused time stand still, whatever is waited for, until the test moves it. As long as
/// something blocks, time is not moved on to whatever comes next.
pub(crate) struct StillClock {
    _release: std::sync::mpsc::Sender<()>,
    _blocked: JoinSet<()>,
}

impl StillClock {
    pub(crate) fn new() -> Self {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let mut blocked = JoinSet::new();
        blocked.spawn_blocking(move || {
            // It ends when the other end is dropped. If the test hangs, time runs again, and so does what limits the wait.
            released.recv_timeout(SOON).ok();
        });
        Self {
            _release: release,
            _blocked: blocked,
        }
    }

    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
    }
}

pub(crate) fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

/// What the server shows and says.
#[derive(Debug)]
struct Says {
    /// The card; without one it has trouble.
    card: Option<String>,
    /// What it answers to a message; without one it answers with a page for people.
    answer: Option<String>,
    /// The headers of the last request.
    shown: http::HeaderMap,
    /// Whether it thinks about its answers until it is told to go on.
    is_slow: bool,
    /// What those must show who send it a message.
    wants: Option<String>,
}

/// A server somewhere else.
pub(crate) struct Far {
    addr: SocketAddr,
    says: Arc<Mutex<Says>>,
    /// How often the card was asked for.
    looks: watch::Sender<usize>,
    /// A message came, and may be answered.
    came: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
    server: JoinSet<()>,
}

#[derive(Clone)]
struct Shared {
    says: Arc<Mutex<Says>>,
    looks: watch::Sender<usize>,
    came: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
}

impl Far {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let says = Arc::new(Mutex::new(Says {
            card: Some(card(addr, "Far Echo").to_string()),
            answer: Some("hello from afar".to_owned()),
            shown: http::HeaderMap::new(),
            is_slow: false,
            wants: None,
        }));
        let looks = watch::Sender::new(0);
        let (came, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let shared = Shared {
            says: says.clone(),
            looks: looks.clone(),
            came: came.clone(),
            go_on: go_on.clone(),
        };
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(show_card))
            .route("/rpc", post(answer))
            .with_state(shared);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            addr,
            says,
            looks,
            came,
            go_on,
            server,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// It shows another card.
    pub(crate) fn is_called(&self, name: &str) {
        self.shows(&card(self.addr, name).to_string());
    }

    /// It shows a card that says that another server is called.
    pub(crate) fn points_to(&self, other: &Self) {
        self.shows(&card(other.addr, "Elsewhere").to_string());
    }

    /// It shows this as its card.
    pub(crate) fn shows(&self, text: &str) {
        self.says.lock().card = Some(text.to_owned());
    }

    /// It has trouble, until it shows a card again.
    pub(crate) fn breaks(&self) {
        self.says.lock().card = None;
    }

    /// It answers with pages for people.
    pub(crate) fn talks_nonsense(&self) {
        self.says.lock().answer = None;
    }

    /// It thinks about its answers until it is told to go on.
    pub(crate) fn takes_its_time(&self) {
        self.says.lock().is_slow = true;
    }

    /// Waits until a message has come.
    pub(crate) async fn has_a_message(&self) {
        soon(self.came.acquire()).await.unwrap().forget();
    }

    /// It answers one message that it thinks about.
    pub(crate) fn answers(&self) {
        self.go_on.add_permits(1);
    }

    /// It is gone, and leaves its address.
    pub(crate) async fn dies(mut self) -> SocketAddr {
        self.server.shutdown().await;
        self.addr
    }

    /// It lets in only those who show this.
    pub(crate) fn wants(&self, secret: Option<&str>) {
        self.says.lock().wants = secret.map(|secret| format!("Bearer {secret}"));
    }

    /// The header of the last request.
    pub(crate) fn was_shown(&self, name: &str) -> Option<String> {
        let says = self.says.lock();
        let value = says.shown.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    pub(crate) fn looks(&self) -> watch::Receiver<usize> {
        self.looks.subscribe()
    }
}

/// An address where nobody is, for now.
pub(crate) async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

fn card(addr: SocketAddr, name: &str) -> Value {
    json!({
        "protocolVersion": "0.3.0",
        "name": name,
        "description": "says something",
        "url": format!("http://{addr}/rpc"),
        "preferredTransport": "JSONRPC",
        "version": "1.2",
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "says it again", "tags": ["talk"]}]
    })
}

async fn show_card(State(shared): State<Shared>, headers: http::HeaderMap) -> Response {
    let card = {
        let mut says = shared.says.lock();
        says.shown = headers;
        says.card.clone()
    };
    shared.looks.send_modify(|looks| *looks += 1);
    match card {
        Some(card) => ([("content-type", "application/json")], card).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn answer(
    State(shared): State<Shared>,
    headers: http::HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    assert_eq!(body["method"], "message/send");
    let is_slow = shared.says.lock().is_slow;
    shared.came.add_permits(1);
    if is_slow {
        shared.go_on.acquire().await.unwrap().forget();
    }
    let mut says = shared.says.lock();
    says.shown = headers;
    let shown = says.shown.get("authorization");
    let shown = shown.and_then(|shown| shown.to_str().ok());
    if says.wants.is_some() && says.wants.as_deref() != shown {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match &says.answer {
        Some(answer) => Json(json!({
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": {
                "kind": "message",
                "messageId": "m1",
                "contextId": "c1",
                "role": "agent",
                "parts": [{"kind": "text", "text": answer}]
            }
        }))
        .into_response(),
        None => Html("<h1>Nginx</h1>").into_response(),
    }
}

/// A hub that dials.
pub(crate) struct Near {
    pub(crate) hub: Hub,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) tasks: Tasks,
    pub(crate) watching: Watching,
    pub(crate) remotes: Remotes,
    url: String,
    spec: Value,
    client: reqwest::Client,
    _server: JoinSet<()>,
}

impl Near {
    pub(crate) async fn start() -> Self {
        Self::on(Arc::default(), Vec::new()).await
    }

    /// A hub on a store, with these remotes in its configuration.
    pub(crate) async fn on(
        store: Arc<MemoryStore>,
        configured: Vec<(AgentId, RemoteSpec)>,
    ) -> Self {
        Self::with(store, configured, &OutboundRules::default()).await
    }

    /// A hub that may talk to private addresses, whoever names them.
    pub(crate) async fn that_trusts() -> Self {
        let rules = OutboundRules {
            allow_private: true,
            ..OutboundRules::default()
        };
        Self::with(Arc::default(), Vec::new(), &rules).await
    }

    async fn with(
        store: Arc<MemoryStore>,
        configured: Vec<(AgentId, RemoteSpec)>,
        rules: &OutboundRules,
    ) -> Self {
        let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
        let watching = hub.taps().watch(Principal::local(), TapFilter::default());
        let tasks = Tasks::new();
        let outbound = Outbound::new(rules).unwrap();
        let remotes = Remotes::start(
            hub.clone(),
            store.clone(),
            outbound,
            tasks.clone(),
            configured,
        );
        let remotes = remotes.await.unwrap();
        let gatekeeper = Gatekeeper::new(hub.clone(), true);
        let dialler: Arc<dyn Dialler> = Arc::new(remotes.clone());
        let (router, mut api) = dial::routes::router(hub.clone(), gatekeeper.clone(), [dialler]);
        let (cards, cards_api) = cards_router(hub.clone(), gatekeeper, remotes.clone());
        let router = router.merge(cards);
        api.merge(cards_api);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::new(vec![listener], router, Tasks::new());
        let mut running = JoinSet::new();
        running.spawn(async move {
            server.run(Duration::ZERO).await;
        });
        Self {
            hub,
            store,
            tasks,
            watching,
            remotes,
            url,
            spec: described(&api),
            // The hub hangs up on those who are silent for long, and the clock runs fast here.
            client: reqwest::Client::builder()
                .pool_max_idle_per_host(0)
                .build()
                .unwrap(),
            _server: running,
        }
    }

    /// Asks the hub, and checks the answer against the description.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.ask_as(None, method, path, body).await
    }

    /// Asks the hub with a token.
    pub(crate) async fn ask_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let mut request = self.client.request(method.clone(), self.at(path));
        if !body.is_null() {
            request = request.json(&body);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")),
        };
        spec::check(&self.spec, method.as_str(), path, status, &body);
        (status, body)
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Adds a remote, and returns what the hub says of it.
    pub(crate) async fn add(&self, body: Value) -> Value {
        let (status, added) = self.ask(Method::POST, "/v1/remotes", body).await;
        assert_eq!(status, 201, "{added}");
        added
    }

    pub(crate) async fn remote(&self, id: &str) -> Value {
        let path = format!("/v1/remotes/{id}");
        let (status, remote) = self.ask(Method::GET, &path, Value::Null).await;
        assert_eq!(status, 200, "{remote}");
        remote
    }

    /// The agent, if there is one.
    pub(crate) fn agent(&self, id: &str) -> Option<AgentView> {
        let seen = self
            .hub
            .agents()
            .discover(&Principal::local(), &Wanted::default());
        seen.into_iter().find(|view| view.id.as_str() == id)
    }

    /// Says something to an agent and waits for all of its answer.
    pub(crate) async fn call(&self, agent: &str) -> Result<(String, End), Failure> {
        let asking = self.start_call(agent)?;
        Ok(soon(asking.replies().finish()).await)
    }

    /// Says something to an agent.
    pub(crate) fn start_call(&self, agent: &str) -> Result<CallerHandle, Failure> {
        self.hub.calls().open(self.request(agent))
    }

    /// Says something to an agent, whenever that comes.
    pub(crate) fn start_waiting_call(&self, agent: &str) -> Result<CallerHandle, Failure> {
        self.hub.calls().open(self.waiting(agent))
    }

    /// The same as a task.
    pub(crate) async fn start_task(&self, agent: &str) -> Arc<Task> {
        self.hub.tasks().start(self.waiting(agent)).await.unwrap()
    }

    fn waiting(&self, agent: &str) -> Request {
        Request {
            wait_online: Some(Duration::from_secs(3600)),
            ..self.request(agent)
        }
    }

    fn request(&self, agent: &str) -> Request {
        let message = Message::text("hello");
        Request::new(Principal::local(), "own", id(agent), message)
    }

    /// Waits until an agent is online.
    pub(crate) async fn online(&mut self) {
        self.until(|sight| matches!(sight, Sight::Online(_))).await;
    }

    /// Waits until an agent is offline.
    pub(crate) async fn offline(&mut self) {
        self.until(|sight| matches!(sight, Sight::Offline)).await;
    }

    async fn until(&mut self, is_it: impl Fn(&Sight) -> bool) {
        while !is_it(&soon(self.watching.next()).await.sight) {}
    }

    /// What the store has of remotes.
    pub(crate) async fn stored(&self) -> Vec<String> {
        let records = self.store.load_records(jackfield_a2a::DOOR).await.unwrap();
        records.into_iter().map(|it| it.agent.unwrap().to_string()).collect()
    }

    /// It stops, and leaves its store.
    pub(crate) async fn stop(self) -> Arc<MemoryStore> {
        self.hub.stop(Duration::ZERO).await;
        self.tasks.stop(Duration::from_secs(2)).await;
        self.store
    }
}

/// The description, with what it takes from that of the hub's own API.
fn described(api: &utoipa::openapi::OpenApi) -> Value {
    let mut spec = serde_json::to_value(api).unwrap();
    spec["components"]["schemas"]["Error"] = json!({
        "type": "object",
        "required": ["error", "message"],
        "properties": {"error": {"type": "string"}, "message": {"type": "string"}}
    });
    spec
}
