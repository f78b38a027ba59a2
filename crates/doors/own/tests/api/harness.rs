//! A hub with its own API on a port of its own, and an agent whose part the test plays. Whatever the hub answers in
//! JSON is checked against its own description.

use std::{net::SocketAddr, sync::Arc};

use jackfield_core::{
    agent::{Profile, Skill},
    call::AgentHandle,
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::files::{FileKey, Files};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::{
    auth::Gatekeeper,
    server::{Server, ServerLimits},
    tasks::Tasks,
    testing::{self, Manner, SOON, SseReader, spec},
};
use jackfield_model::Owner;
use jackfield_own::{OwnState, openapi_route, router};
use jackfield_team::Teams;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// A running hub.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) files: Arc<Files>,
    pub(crate) teams: Teams,
    pub(crate) tasks: Tasks,
    pub(crate) spec: Value,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        Self::start_on(MemoryStore::default(), trusts_everyone, limits).await
    }

    pub(crate) async fn start_on(store: impl Store, trusts_everyone: bool, limits: Limits) -> Self {
        let teams = Teams::open(Arc::new(store), limits).await.unwrap();
        let hub = teams.hub().clone();
        let tasks = Tasks::new();
        let files = Files::for_hub(&hub);
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let (app, api) = router(OwnState {
            hub: hub.clone(),
            gatekeeper: gatekeeper.clone(),
            files: files.clone(),
            version: "1.2.3",
            stop: tasks.stop_token().clone(),
        });
        let app = app.merge(openapi_route(gatekeeper.clone(), api));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let key = FileKey::new("file key");
        files.serve_at(&format!("http://{addr}"), key);
        let mut server = JoinSet::new();
        let limits = ServerLimits::from(hub.limits());
        let serving = Server::new(vec![listener], app, tasks.clone())
            .with_limits(limits)
            .with_gatekeeper(gatekeeper);
        server.spawn(serving.run(SOON));
        let mut running = Self {
            addr,
            hub,
            files,
            teams,
            tasks,
            spec: Value::Null,
            client: reqwest::Client::new(),
            _server: server,
        };
        let token = running.token("root", &["admin"]).await;
        let fetched = running
            .ask(Method::GET, "/openapi.json")
            .bearer_auth(token)
            .send();
        running.spec = fetched.await.unwrap().json().await.unwrap();
        running
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    /// A request of the test's own owner; the answer must be JSON as described, or nothing.
    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        self.json_as(None, method, path, body).await
    }

    pub(crate) async fn json_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let mut request = self.ask(method.clone(), path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        self.checked(&method, path, response).await
    }

    /// Checks a response against the description and takes it apart.
    pub(crate) async fn checked(
        &self,
        method: &Method,
        path: &str,
        response: Response,
    ) -> (StatusCode, Value) {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            assert!(
                response.headers()["www-authenticate"]
                    .as_bytes()
                    .starts_with(b"Bearer")
            );
        }
        let text = response.text().await.unwrap();
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
        };
        spec::check(&self.spec, method.as_str(), path, status.as_u16(), &body);
        (status, body)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.json(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.json(Method::POST, path, Some(body)).await
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, request: RequestBuilder) -> Stream {
        let reader = SseReader::of(request.send().await.unwrap()).await;
        let is_watch = reader.response.url().path() == "/v1/events";
        let name = if is_watch { "WatchEvent" } else { "CallEvent" };
        Stream {
            reader,
            schema: json!({"$ref": format!("#/components/schemas/{name}")}),
            spec: self.spec.clone(),
        }
    }

    /// A streamed call with this body.
    pub(crate) async fn call(&self, agent: &str, body: Value) -> Stream {
        let path = format!("/v1/agents/{agent}/calls");
        self.stream(self.ask(Method::POST, &path).json(&body)).await
    }

    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        new.await.unwrap().secret
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_for(&Principal::local(), id)
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        let profile = Profile {
            name: format!("Agent {id}"),
            skills: vec![Skill {
                id: format!("{id}-skill"),
                ..Skill::default()
            }],
            ..Profile::default()
        };
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, profile, manner)
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sse {
    pub(crate) event: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream {
    reader: SseReader,
    schema: Value,
    spec: Value,
}

impl Stream {
    pub(crate) fn response(&mut self) -> &mut Response {
        &mut self.reader.response
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        let testing::Sse { event, id, data } = self.reader.next().await?;
        let event = event.unwrap();
        assert_eq!(data["type"], event, "the type is told twice, alike");
        spec::fits(&self.spec, &self.schema, &data).unwrap();
        Some(Sse { event, id, data })
    }

    /// The next event, which must be this one.
    pub(crate) async fn expect(&mut self, event: &str) -> Sse {
        let next = self.next().await.expect("the stream goes on");
        assert_eq!(next.event, event, "{next:?}");
        next
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<Sse> {
        let mut all = Vec::new();
        while let Some(next) = self.next().await {
            all.push(next);
        }
        all
    }
}

/// The text of the chunks.
pub(crate) fn text_of(events: &[Sse]) -> String {
    let chunks = events.iter().filter(|sse| sse.event == "chunk");
    chunks
        .map(|sse| sse.data["text"].as_str().unwrap())
        .collect()
}

/// Starts a detached call and takes it up at the agent.
pub(crate) async fn detached(hub: &Running, amy: &mut Scripted) -> (String, AgentHandle) {
    let body = json!({"text": "go", "detach": true});
    let (status, answer) = hub.post("/v1/agents/amy/calls", body).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    (
        answer["task"].as_str().unwrap().to_owned(),
        amy.next_call().await,
    )
}
