//! A hub with this door on a port of its own, agents whose part the test plays, and callers that write their own JSON.

use std::{net::SocketAddr, sync::Arc};

use axum::Router;
use jackfield_a2a::{A2aDoor, Cards, router, router_at};
use jackfield_core::{
    agent::Profile,
    call::AgentHandle,
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
    token::TokenLookup,
};
use jackfield_kit::{
    auth::Gatekeeper,
    outbound::{Outbound, OutboundRules},
    server::{Server, ServerLimits},
    tasks::Tasks,
    testing::{Manner, SOON, Scripted, SseReader},
};
use jackfield_model::{Done, DoneState, End, Event, Owner};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

/// The address of the agent that most tests call.
pub(crate) const ECHO: &str = "/a2a/agents/echo";

/// A hub with a server.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) hub: Hub,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        Self::start_as(Arc::default(), trusts_everyone, limits, router).await
    }

    /// On a store that another hub may have used before.
    pub(crate) async fn start_on(store: Arc<MemoryStore>) -> Self {
        Self::start_as(store, true, Limits::default(), router).await
    }

    /// As a part of somebody's server, below a prefix; `others` are the routes that it has besides.
    pub(crate) async fn start_at(prefix: &str, others: Router) -> Self {
        let app = |a2a| router_at(prefix, a2a).merge(others);
        Self::start_as(Arc::default(), true, Limits::default(), app).await
    }

    async fn start_as(
        store: Arc<MemoryStore>,
        trusts_everyone: bool,
        limits: Limits,
        app: impl FnOnce(A2aDoor) -> Router,
    ) -> Self {
        let hub = Hub::open(store, limits).await.unwrap();
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let a2a = A2aDoor::new(hub.clone(), gatekeeper)
            .with_cards(Cards::at("https://hub.example.com"))
            .with_outbound(Outbound::new(&OutboundRules::default()).unwrap());
        let app = app(a2a);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        let limits = ServerLimits::from(hub.limits());
        let serving = Server::new(vec![listener], app, Tasks::new()).with_limits(limits);
        server.spawn(serving.run(SOON));
        Self {
            addr,
            hub,
            client: reqwest::Client::new(),
            _server: server,
        }
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    /// A request with a body of JSON.
    pub(crate) fn request(&self, path: &str, body: impl Into<String>) -> RequestBuilder {
        let request = self.ask(Method::POST, path).body(body.into());
        request.header("Content-Type", "application/json")
    }

    /// The answer to a body.
    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> (u16, Value) {
        told(self.request(path, body)).await
    }

    /// The answer to a look.
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        told(self.ask(Method::GET, path)).await
    }

    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        new.await.unwrap().secret
    }

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> (Principal, String) {
        let token = self.token(name, &["agent:*"]).await;
        match self.hub.tokens().look_up(&token) {
            TokenLookup::Valid(principal) => (principal, token),
            other => panic!("{other:?}"),
        }
    }

    /// Takes a token back.
    pub(crate) async fn revoke(&self, token: &str) {
        let TokenLookup::Valid(principal) = self.hub.tokens().look_up(token) else {
            panic!("it is no good already");
        };
        let id = principal.grant.token.unwrap();
        assert!(self.hub.tokens().revoke(id).await.unwrap());
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_as(&Principal::local(), id, Profile::default())
    }

    pub(crate) fn attach_as(&self, owner: &Principal, id: &str, profile: Profile) -> Scripted {
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, owner, id, profile, manner)
    }

    /// How many requests were refused as malformed.
    pub(crate) fn refused(&self) -> u64 {
        let metrics = self.hub.metrics().render();
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| {
            let (name, count) = line.split_once("refused_total{door=\"a2a\"} ")?;
            (!name.starts_with('#')).then(|| count.parse().unwrap())
        });
        count.unwrap_or_default()
    }
}

/// Sends a request and takes the answer apart, which must be JSON.
pub(crate) async fn told(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, json_of(response).await)
}

/// The JSON of a response.
pub(crate) async fn json_of(response: Response) -> Value {
    let kind = response.headers()["content-type"].to_str().unwrap();
    let is_json = matches!(kind, "application/json" | "application/a2a+json");
    assert!(is_json, "{kind}");
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Opens a stream; panics if it is refused.
pub(crate) async fn stream_of(request: RequestBuilder) -> SseReader {
    SseReader::of(request.send().await.unwrap()).await
}

/// All that a stream still tells.
pub(crate) async fn all_of(stream: &mut SseReader) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(event) = stream.next().await {
        all.push(event.data);
    }
    all
}

/// Answers the next call of an agent with these words.
pub(crate) async fn answered(agent: &mut Scripted, words: &str) {
    answer(agent.next_call().await, words);
}

/// Answers a call.
pub(crate) fn answer(serving: AgentHandle, words: &str) {
    serving.push(Event::text(words));
    serving.finish(End::done());
}

/// Asks for more instead, which ends the turn.
pub(crate) fn ask_for_more(serving: AgentHandle, words: &str) {
    serving.push(Event::text(words));
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
}
