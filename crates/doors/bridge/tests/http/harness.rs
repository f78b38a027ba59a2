//! A hub with the bridge's API on a port of its own, and agents whose part the test plays.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jackfield_bridge::{Bridge, Platform, Secret, router};
use jackfield_core::{
    agent::{Closing, Link, Profile, Skill},
    call::{Call, Serving},
    event::{Done, End},
    hub::{Attached, Hub},
    id::{AgentId, CallId},
    limits::Limits,
    principal::Principal,
    store::memory::MemoryStore,
};
use jackfield_kit::{auth::Gatekeeper, server::Server, tasks::Tasks};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
};

/// Long enough for anything that works.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The platform's secret.
pub(crate) const SECRET: &str = "hunter2";

/// Fails a test that would hang.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// A hub without a server.
pub(crate) struct Door {
    pub(crate) hub: Hub,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) tasks: Tasks,
    _sweeper: JoinSet<()>,
}

impl Door {
    pub(crate) async fn open(store: Arc<MemoryStore>, limits: Limits, platform: Platform) -> Self {
        let hub = Hub::open(store, limits).await.unwrap();
        let tasks = Tasks::new();
        let gatekeeper = Gatekeeper::new(hub.clone(), true);
        let bridge =
            Bridge::with_platform(hub.clone(), gatekeeper, tasks.clone(), platform).unwrap();
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
        let (calls, delivered) = mpsc::channel(16);
        let (cancels, cancelled) = mpsc::channel(16);
        let (closes, closed) = mpsc::channel(16);
        let link = Arc::new(Mailbox {
            calls,
            cancels,
            closes,
            door,
        });
        let profile = Profile {
            name: format!("Agent {id}"),
            agent_type: Some("claude".into()),
            skills: vec![Skill {
                id: "translation".into(),
                ..Skill::default()
            }],
            ..Profile::default()
        };
        let id = AgentId::parse(id).unwrap();
        let attached = self.hub.attach(principal, &id, profile, link, false);
        Scripted {
            attached: Some(attached.unwrap()),
            delivered,
            cancelled,
            closed,
        }
    }
}

/// The platform of the tests.
pub(crate) fn platform() -> Platform {
    Platform {
        secrets: Secret::new(SECRET).into_iter().collect(),
        ..Platform::default()
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
        platform: Platform,
    ) -> Self {
        let door = Door::open(store, limits, platform).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        let app = router(door.bridge.clone());
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
        taken_apart(self.platform(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let request = self.platform(Method::POST, path).json(&body);
        taken_apart(request.send().await.unwrap()).await
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

#[derive(Debug)]
struct Mailbox {
    calls: Sender<Serving>,
    cancels: Sender<CallId>,
    closes: Sender<Closing>,
    door: &'static str,
}

impl Link for Mailbox {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.calls
            .try_send(call)
            .map_err(mpsc::error::TrySendError::into_inner)
    }

    fn cancel(&self, call: &Arc<Call>) {
        self.cancels.try_send(call.id).ok();
    }

    fn close(&self, why: Closing) {
        self.closes.try_send(why).ok();
    }

    fn alive(&self, _: &Call) -> bool {
        false
    }

    fn door(&self) -> &'static str {
        self.door
    }

    /// As an agent of the bridge without `meta`.
    fn one_call_per_session(&self) -> bool {
        self.door == "bridge"
    }
}

/// An agent whose part the test plays.
pub(crate) struct Scripted {
    pub(crate) attached: Option<Attached>,
    delivered: Receiver<Serving>,
    cancelled: Receiver<CallId>,
    closed: Receiver<Closing>,
}

impl Scripted {
    /// The next call that is written to it.
    pub(crate) async fn next_call(&mut self) -> Serving {
        soon(self.delivered.recv()).await.unwrap()
    }

    /// Whether no call has been written to it.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        self.delivered.is_empty()
    }

    /// The next call that it is told to stop.
    pub(crate) async fn next_cancel(&mut self) -> CallId {
        soon(self.cancelled.recv()).await.unwrap()
    }

    /// Why it is told to go.
    pub(crate) async fn next_close(&mut self) -> Closing {
        soon(self.closed.recv()).await.unwrap()
    }

    /// Hangs up.
    pub(crate) fn leave(&mut self) {
        self.attached = None;
    }
}

/// The end of an answer that is repeated there.
pub(crate) fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.into()),
        ..Done::default()
    }))
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sse {
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream {
    response: Response,
    unread: String,
}

impl Stream {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status();
        if status != StatusCode::OK {
            panic!("{status}: {}", response.text().await.unwrap());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        Self {
            response,
            unread: String::new(),
        }
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let frame: String = self.unread.drain(..end + 2).collect();
                let (id, data) = match frame.strip_prefix("id: ") {
                    Some(rest) => {
                        let (id, rest) = rest.split_once('\n').unwrap();
                        (Some(id.to_owned()), rest)
                    }
                    None => (None, &*frame),
                };
                let data = data.strip_prefix("data: ").expect(&frame).trim_end();
                return Some(Sse {
                    id,
                    data: serde_json::from_str(data).unwrap(),
                });
            }
            let bytes = soon(self.response.chunk()).await.unwrap()?;
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
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
