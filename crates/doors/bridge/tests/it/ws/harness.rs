//! A hub with the agents' half of the bridge on a port of its own, and clients whose frames the test writes itself.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::Query, routing::get};
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_bridge::{Bridge, DOOR, FileRules, PlatformSettings, SharedSecret};
use jackfield_core::{
    call::{Replies, Reply},
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::{
    auth::{Gatekeeper, Ingress},
    server::Server,
    tasks::Tasks,
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionParts},
};
use jackfield_model::{AgentId, End, Event, Message as Said, Reason, RequestId, SessionId};
use jackfield_transfer::hub::Transfers;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

/// Long enough for anything that works.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The platform's secret.
pub(crate) const SECRET: &str = "hunter2";

/// Fails a test that would hang.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// Looks until it is so; for what nobody is told of.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// A hub with the agents' half of the bridge on a port of its own.
pub(crate) struct Door {
    pub(crate) hub: Hub,
    pub(crate) addr: SocketAddr,
    tasks: Tasks,
    _running: JoinSet<()>,
}

impl Door {
    pub(crate) async fn open() -> Self {
        Self::open_with(Limits::default()).await
    }

    pub(crate) async fn open_with(limits: Limits) -> Self {
        Self::open_on(Arc::new(MemoryStore::default()), limits, true).await
    }

    pub(crate) async fn open_on(
        store: Arc<dyn Store>,
        limits: Limits,
        trusts_everyone: bool,
    ) -> Self {
        Self::open_ruled(store, limits, trusts_everyone, FileRules::default()).await
    }

    /// With rules for transfers of files.
    pub(crate) async fn open_ruled(
        store: Arc<dyn Store>,
        limits: Limits,
        trusts_everyone: bool,
        files: FileRules,
    ) -> Self {
        let transfers = Transfers::open(&store).await.unwrap();
        let hub = Hub::open(store, limits).await.unwrap();
        let tasks = Tasks::new();
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let platform = PlatformSettings {
            secrets: SharedSecret::new(SECRET).into_iter().collect(),
            callbacks: None,
            files,
            transfers: Arc::new(transfers),
            links: None,
        };
        let bridge = Bridge::with_platform(hub.clone(), gatekeeper, tasks.clone(), platform);
        let bridge = bridge.unwrap();
        let (api, _) = jackfield_bridge::router(bridge.clone());
        let (files, _) = jackfield_bridge::files_router(bridge.clone());
        let (below, ours) = (hub.clone(), tasks.clone());
        let take = move |Query(query): Query<HashMap<String, String>>, upgrade: Upgrade| async move {
            let parts = WsConnectionParts {
                hub: below,
                door: DOOR,
                stop: ours.stop_token().clone(),
                peer: None,
                token: None,
                came: Ingress::Directly,
            };
            let agent_id = query.get("agent_id").cloned();
            WsConnection::open(upgrade, &ours, parts, move |line| {
                bridge.run(line, agent_id)
            })
        };
        let app = Router::new()
            .route("/ws", get(take))
            .merge(api)
            .merge(files);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut running = JoinSet::new();
        let server = Server::new(vec![listener], app, tasks.clone());
        running.spawn(async move {
            server.run(SOON).await;
        });
        let swept = hub.clone();
        running.spawn(async move { swept.sweep_forever().await });
        Self {
            hub,
            addr,
            tasks,
            _running: running,
        }
    }

    /// Stops as the binary does.
    pub(crate) async fn stop(&self) {
        self.hub.stop(Duration::ZERO).await;
        assert_eq!(self.tasks.stop(SOON).await, 0, "nobody has to be killed");
    }

    pub(crate) async fn connect(&self, id: &str) -> Agent {
        let tcp = TcpStream::connect(self.addr).await.unwrap();
        // Under a paused clock the kernel would hold small frames back for longer than all timeouts.
        tcp.set_nodelay(true).unwrap();
        let url = format!("ws://{}/ws?agent_id={id}", self.addr);
        Agent(tokio_tungstenite::client_async(url, tcp).await.unwrap().0)
    }

    /// An agent of the seed.
    pub(crate) async fn agent(&self, id: &str) -> Agent {
        let mut agent = self.connect(id).await;
        agent.send(register(id, &json!("1"))).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "ok"})
        );
        agent
    }

    /// An agent with all extensions, and its token.
    pub(crate) async fn resumable(&self, id: &str) -> (Agent, String) {
        let mut agent = self.connect(id).await;
        agent.send(register_with(id, &Value::Null)).await;
        let registered = agent.frame().await;
        assert_eq!(registered["status"], "ok");
        assert_eq!(
            registered["extensions"],
            json!(["resume", "artifacts", "input", "meta"])
        );
        assert_eq!(registered["resume"]["grace_ms"], grace_ms(&self.hub));
        let token = registered["resume"]["token"].as_str().unwrap().to_owned();
        (agent, token)
    }

    /// An agent that comes back, and what the hub says of what it had open.
    pub(crate) async fn resume(&self, id: &str, token: &str, open: Value) -> (Agent, Value) {
        self.come_back(id, json!({"token": token, "open": open}))
            .await
    }

    /// An agent that comes back and says this.
    pub(crate) async fn come_back(&self, id: &str, resume: Value) -> (Agent, Value) {
        let mut agent = self.connect(id).await;
        agent.send(register_with(id, &resume)).await;
        let mut registered = agent.frame().await;
        assert_eq!(registered["status"], "ok", "{registered}");
        (agent, registered["resume"].take())
    }

    pub(crate) fn request(id: &str, request: &str, text: &str) -> Request {
        let target = AgentId::parse(id).unwrap();
        let mut asked = Request::new(Principal::local(), "local", target, Said::text(text));
        asked.request = Some(RequestId::parse(request).unwrap());
        asked.session = Some(SessionId::parse("s-1").unwrap());
        asked
    }

    pub(crate) fn call(&self, id: &str, request: &str, text: &str) -> Replies {
        let asking = self.hub.calls().open(Self::request(id, request, text));
        asking.unwrap().replies()
    }

    /// Waits until the hub knows that the agent's connection is gone.
    pub(crate) async fn lost(&self, id: &str) {
        let entry = self.hub.agents().find(&Principal::local(), id).unwrap();
        until(|| entry.link().is_none()).await;
    }

    /// A number out of the hub's metrics; 0 if it was never counted.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.hub.metrics().render();
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.map_or(0, |count| count.trim().parse().unwrap())
    }

    /// How many frames were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.metric("jackfield_frames_refused_total{door=\"bridge\"}")
    }
}

fn grace_ms(hub: &Hub) -> u64 {
    hub.limits().resume_grace.0.as_millis().try_into().unwrap()
}

/// The register frame of the seed, in a version.
pub(crate) fn register(id: &str, version: &Value) -> Value {
    json!({
        "type": "register", "agent_id": id, "token": "ah_xxx", "bridge_version": version,
        "agent_type": "claude", "capabilities": ["code_review", "translation"],
    })
}

/// The register frame of an agent with all extensions.
pub(crate) fn register_with(id: &str, resume: &Value) -> Value {
    let mut frame = register(id, &json!("2"));
    frame["extensions"] = json!(["resume", "artifacts", "input", "meta", "x-unknown"]);
    if !resume.is_null() {
        frame["resume"] = resume.clone();
    }
    frame
}

pub(crate) fn chunk(request: &str, seq: u64, delta: &str) -> Value {
    json!({"type": "chunk", "request_id": request, "delta": delta, "seq": seq})
}

pub(crate) fn done(request: &str, seq: u64) -> Value {
    json!({"type": "done", "request_id": request, "seq": seq})
}

pub(crate) fn ack(request: &str, seq: u64) -> Value {
    json!({"type": "ack", "request_id": request, "seq": seq})
}

/// What an agent says of one open request.
pub(crate) fn open(request: &str, sent: u64) -> Value {
    json!([{"request_id": request, "sent": sent}])
}

/// A client. Dropping it cuts the connection.
pub(crate) struct Agent(pub(crate) WebSocketStream<TcpStream>);

impl Agent {
    pub(crate) async fn send(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// Sends frames in one go.
    pub(crate) async fn send_all(&mut self, frames: impl IntoIterator<Item = Value>) {
        for frame in frames {
            self.0.feed(Message::text(frame.to_string())).await.unwrap();
        }
        self.0.flush().await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Message {
        loop {
            let next = soon(self.0.next()).await;
            match next.expect("open").expect("sound") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    pub(crate) async fn frame(&mut self) -> Value {
        let Message::Text(text) = self.next().await else {
            panic!("not a text frame")
        };
        serde_json::from_str(&text).unwrap()
    }

    /// The next frame that is no ack.
    pub(crate) async fn word(&mut self) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] != "ack" {
                return frame;
            }
        }
    }

    /// Reads until this is acknowledged; the numbers on the way.
    pub(crate) async fn acked(&mut self, request: &str, seq: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.last() != Some(&seq) {
            let frame = self.frame().await;
            assert_eq!(
                (&frame["type"], &frame["request_id"]),
                (&json!("ack"), &json!(request))
            );
            seen.push(frame["seq"].as_u64().unwrap());
        }
        assert!(seen.is_sorted(), "{seen:?}");
        seen
    }

    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.next().await {
                let frame = frame.expect("a code");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }

    /// Waits until everything before this was handled, with a question that has an answer.
    pub(crate) async fn sync(&mut self) -> Vec<Value> {
        self.send(json!({"type": "discover_agents", "limit": 0}))
            .await;
        let mut before = Vec::new();
        loop {
            let frame = self.frame().await;
            if frame["type"] == "discover_agents_result" {
                return before;
            }
            before.push(frame);
        }
    }

    /// Waits until the hub has written something.
    pub(crate) async fn is_written_to(&self) {
        soon(self.0.get_ref().readable()).await.unwrap();
    }
}

/// All that comes out of a call.
pub(crate) async fn all_of(mut replies: Replies) -> (Vec<Event>, End) {
    let mut events = Vec::new();
    loop {
        match soon(replies.next()).await.expect("an end") {
            Reply::Event(event) => events.push(event),
            Reply::End(end) => return (events, end),
        }
    }
}

pub(crate) async fn end_of(replies: &mut Replies) -> End {
    loop {
        match soon(replies.next()).await.expect("an end") {
            Reply::Event(_) => {}
            Reply::End(end) => return end,
        }
    }
}

/// Why a call failed.
pub(crate) async fn failure_of(mut replies: Replies) -> Reason {
    match end_of(&mut replies).await {
        End::Failed(failure) => failure.reason,
        end => panic!("not failed: {end:?}"),
    }
}
