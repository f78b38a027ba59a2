//! A hub with the bridge's API on a port of its own, and agents whose part the test plays. What the hub answers in JSON
//! is checked against its own description.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{Router, routing::get};
use jackfield_bridge::{Bridge, DOOR, PlatformSettings, SharedSecret, router};
use jackfield_core::{
    agent::{Profile, Skill},
    hub::Hub,
    limits::Limits,
    principal::Principal,
    store::memory::MemoryStore,
};
pub(crate) use jackfield_kit::testing::{Scripted, Sse, soon};
use jackfield_kit::{
    auth::{Gatekeeper, Ingress},
    outbox::{CallbackKey, Courier},
    server::Server,
    tasks::Tasks,
    testing::{CALLBACK_KEY, Manner, SOON, SseReader, spec},
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionParts},
};
use jackfield_model::{Done, End};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// The platform's secret.
pub(crate) const SECRET: &str = "hunter2";

/// A hub without a server.
pub(crate) struct Door {
    pub(crate) hub: Hub,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) tasks: Tasks,
    _sweeper: JoinSet<()>,
}

impl Door {
    pub(crate) async fn open(
        store: Arc<MemoryStore>,
        limits: Limits,
        platform: PlatformSettings,
    ) -> Self {
        let hub = Hub::open(store, limits).await.unwrap();
        let tasks = Tasks::new();
        let gatekeeper = Gatekeeper::new(hub.clone(), true);
        let outbound = platform.callbacks.as_ref().map(|it| it.outbound.clone());
        let bridge =
            Bridge::with_platform(hub.clone(), gatekeeper, tasks.clone(), platform).unwrap();
        if let Some(outbound) = outbound {
            let courier = Courier::new(hub.clone(), outbound, CallbackKey::new(CALLBACK_KEY));
            courier.with(bridge.clone()).start(&tasks);
        }
        let mut sweeper = JoinSet::new();
        let swept = hub.clone();
        sweeper.spawn(async move { swept.sweep_forever().await });
        Self {
            hub,
            bridge,
            tasks,
            _sweeper: sweeper,
        }
    }

    /// The way in for agents that are real.
    fn sockets(&self) -> Router {
        let (bridge, hub, tasks) = (self.bridge.clone(), self.hub.clone(), self.tasks.clone());
        let take = move |upgrade: Upgrade| async move {
            let parts = WsConnectionParts {
                hub,
                door: DOOR,
                stop: tasks.stop_token().clone(),
                peer: None,
                token: None,
                came: Ingress::Directly,
            };
            WsConnection::open(upgrade, &tasks, parts, move |line| bridge.run(line, None))
        };
        Router::new().route("/ws", get(take))
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_as(&Principal::local(), id, "bridge")
    }

    pub(crate) fn attach_as(
        &self,
        principal: &Principal,
        id: &str,
        door: &'static str,
    ) -> Scripted {
        let profile = Profile {
            name: format!("Agent {id}"),
            agent_type: Some("claude".into()),
            skills: vec![Skill {
                id: "translation".into(),
                ..Skill::default()
            }],
            ..Profile::default()
        };
        let manner = Manner {
            door,
            is_lively: false,
            one_call_per_session: door == "bridge",
        };
        Scripted::attach(&self.hub, principal, id, profile, manner)
    }
}

/// The platform of the tests.
pub(crate) fn platform() -> PlatformSettings {
    PlatformSettings {
        secrets: SharedSecret::new(SECRET).into_iter().collect(),
        ..PlatformSettings::default()
    }
}

/// A hub with a server.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) door: Door,
    pub(crate) client: reqwest::Client,
    server: JoinSet<usize>,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_with(Arc::default(), Limits::default(), platform()).await
    }

    pub(crate) async fn start_with(
        store: Arc<MemoryStore>,
        limits: Limits,
        platform: PlatformSettings,
    ) -> Self {
        let door = Door::open(store, limits, platform).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        let app = router(door.bridge.clone()).0.merge(door.sockets());
        server.spawn(Server::new(vec![listener], app, door.tasks.clone()).run(SOON));
        Self {
            addr,
            door,
            client: reqwest::Client::new(),
            server,
        }
    }

    /// Stops as the binary does.
    pub(crate) async fn stop(mut self) {
        self.door.hub.stop(Duration::ZERO).await;
        self.door.tasks.stop_token().cancel();
        soon(self.server.join_next()).await;
    }

    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.door.attach(id)
    }

    /// A request without the secret.
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    /// A request of the platform's.
    pub(crate) fn platform(&self, method: Method, path: &str) -> RequestBuilder {
        self.ask(method, path).header("X-Platform-Secret", SECRET)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.checked(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.checked(Method::POST, path, Some(body.to_string()))
            .await
    }

    /// A request of the platform's, whose answer must be as described.
    pub(crate) async fn checked(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> (StatusCode, Value) {
        let request = self.platform(method.clone(), path);
        let request = request.body(body.unwrap_or_default());
        let (status, answer) = taken_apart(request.send().await.unwrap()).await;
        spec::check(&SPEC, method.as_str(), path, status.as_u16(), &answer);
        (status, answer)
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, path: &str, body: Value) -> Stream {
        Stream::of(self.platform(Method::POST, path).json(&body)).await
    }

    /// Relays a message to an agent.
    pub(crate) async fn relay(&self, agent: &str, request: &str) -> Stream {
        self.stream("/api/relay", relay_body(agent, request)).await
    }

    /// A connection on which the test writes the bytes itself.
    pub(crate) async fn raw(&self, request: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.addr).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }
}

/// What the API says of itself; here, no answer may say more than that.
pub(crate) static SPEC: LazyLock<Value> = LazyLock::new(|| {
    let mut spec = serde_json::to_value(jackfield_bridge::description()).unwrap();
    for schema in spec["components"]["schemas"]
        .as_object_mut()
        .unwrap()
        .values_mut()
    {
        close(schema);
    }
    spec
});

fn close(schema: &mut Value) {
    if let Some(kinds) = schema["oneOf"].as_array_mut() {
        kinds.iter_mut().for_each(close);
    } else if schema["properties"].is_object() {
        schema["additionalProperties"] = json!(false);
    }
}

/// The body of a relay.
pub(crate) fn relay_body(agent: &str, request: &str) -> Value {
    json!({"agent_id": agent, "session_id": "s1", "request_id": request, "content": "hi"})
}

pub(crate) async fn taken_apart(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    let body = match text.as_str() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
    };
    (status, body)
}

/// Reads a raw socket until the text is there.
pub(crate) async fn read_until(socket: &mut TcpStream, wanted: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(wanted) {
        let mut buffer = [0; 4096];
        let count = soon(socket.read(&mut buffer)).await.unwrap();
        assert!(
            count > 0,
            "ended before {wanted:?}: {}",
            String::from_utf8_lossy(&text)
        );
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).unwrap()
}

/// The end of an answer that is repeated there.
pub(crate) fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.into()),
        ..Done::default()
    }))
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream(SseReader);

impl Stream {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self(SseReader::of(request.send().await.unwrap()).await)
    }

    /// The next event, which must be as described; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        let next = self.0.next().await?;
        assert_eq!(next.event, None, "clients of the bridge know no names");
        let schema = json!({"$ref": "#/components/schemas/RelayEvent"});
        spec::fits(&SPEC, &schema, &next.data).unwrap();
        Some(next)
    }

    /// The data of the next event.
    pub(crate) async fn data(&mut self) -> Value {
        self.next().await.expect("the stream goes on").data
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(next) = self.next().await {
            all.push(next.data);
        }
        all
    }
}

/// An `error` event.
pub(crate) fn error(code: &str, message: &str) -> Value {
    json!({"type": "error", "code": code, "message": message})
}

/// A `chunk` event of text.
pub(crate) fn chunk(delta: &str) -> Value {
    json!({"type": "chunk", "delta": delta})
}
