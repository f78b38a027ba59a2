//! An A2A server, in both versions, that works on a single task and continues while the hub is down. The test controls
//! its answer, its end, its listener and its memory.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::stream;
use jackfield_testkit::SOON;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::timeout};

/// The protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolVersion {
    Old,
    New,
}

/// The server.
pub(crate) struct Server {
    addr: SocketAddr,
    server_state: ServerState,
    serving: JoinSet<()>,
}

/// State shared by all requests.
#[derive(Clone)]
struct ServerState {
    version: ProtocolVersion,
    work: watch::Sender<TaskState>,
    asked: Arc<Mutex<Vec<String>>>,
    /// Number of received messages.
    begun: watch::Sender<usize>,
}

/// The state of the task.
#[derive(Clone, Default)]
struct TaskState {
    said: String,
    is_over: bool,
    is_forgotten: bool,
}

impl Server {
    pub(crate) async fn start(version: ProtocolVersion) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server_state = ServerState {
            version,
            work: watch::Sender::default(),
            asked: Arc::default(),
            begun: watch::Sender::default(),
        };
        let mut server = Self {
            addr: listener.local_addr().expect("an address"),
            server_state,
            serving: JoinSet::new(),
        };
        server.serve(listener);
        server
    }

    fn serve(&mut self, listener: TcpListener) {
        let url = format!("http://{}/", self.addr);
        let card = match self.server_state.version {
            ProtocolVersion::Old => json!({
                "name": "server", "protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC",
                "capabilities": {"streaming": true},
            }),
            ProtocolVersion::New => json!({
                "name": "server", "capabilities": {"streaming": true},
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            }),
        };
        let routes = Router::new()
            .route("/.well-known/agent-card.json", get(|| async { Json(card) }))
            .route("/", post(answer))
            .with_state(self.server_state.clone());
        self.serving
            .spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
    }

    /// The configuration that adds the server to a hub.
    pub(crate) fn config(&self) -> String {
        format!("[[agent]]\nid = \"far\"\nurl = \"http://{}\"\n", self.addr)
    }

    /// Waits for a message.
    pub(crate) async fn wait_for_message(&self) {
        let mut begun = self.server_state.begun.subscribe();
        let begun = timeout(SOON, begun.wait_for(|begun| *begun > 0)).await;
        begun.expect("a message").expect("it serves");
    }

    /// Sends more of the answer.
    pub(crate) fn add_text(&self, words: &str) {
        let more = |work: &mut TaskState| work.said.push_str(words);
        self.server_state.work.send_modify(more);
    }

    /// Completes the task.
    pub(crate) fn ends(&self) {
        self.server_state
            .work
            .send_modify(|work| work.is_over = true);
    }

    /// Forgets the task.
    pub(crate) fn forgets(&self) {
        self.server_state
            .work
            .send_modify(|work| work.is_forgotten = true);
    }

    /// Stops listening; the work continues.
    pub(crate) async fn leaves(&mut self) {
        self.serving.shutdown().await;
    }

    /// Listens again.
    pub(crate) async fn returns(&mut self) {
        let listener = TcpListener::bind(self.addr).await.expect("its port");
        self.serve(listener);
    }

    /// The methods of all requests.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.server_state.asked.lock().clone()
    }
}

async fn answer(State(server_state): State<ServerState>, Json(body): Json<Value>) -> Response {
    let method = body["method"].as_str().expect("a method").to_owned();
    let id = body["id"].clone();
    server_state.asked.lock().push(method.clone());
    let work = server_state.work.subscribe();
    let is_forgotten = work.borrow().is_forgotten;
    if method.to_ascii_lowercase().starts_with("task") || method.ends_with("Task") {
        assert_eq!(body["params"]["id"], "t", "{body}");
        if is_forgotten {
            let error = json!({"code": -32001, "message": "no such task"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    }
    match method.as_str() {
        "GetTask" | "tasks/get" => {
            let task = server_state.task(&work.borrow());
            Json(json!({"jsonrpc": "2.0", "id": id, "result": task})).into_response()
        }
        "SendStreamingMessage" | "message/stream" => {
            server_state.begun.send_modify(|begun| *begun += 1);
            server_state.events(id, work)
        }
        "SubscribeToTask" if !work.borrow().is_over => server_state.events(id, work),
        _ => {
            let error = json!({"code": -32004, "message": "not now"});
            Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
        }
    }
}

impl ServerState {
    /// Streams the task, then its text, and its end.
    fn events(&self, id: Value, work: watch::Receiver<TaskState>) -> Response {
        let told = (self.clone(), id, work, None::<usize>);
        let events = stream::unfold(Some(told), |told| async {
            let (server_state, id, mut work, told) = told?;
            let (result, next) = match told {
                None => {
                    let work = work.borrow_and_update();
                    (server_state.first(&work), Some(work.said.len()))
                }
                Some(before) => {
                    let more = |work: &TaskState| work.said.len() > before || work.is_over;
                    let work = work.wait_for(more).await.ok()?;
                    match work.said.get(before..).filter(|words| !words.is_empty()) {
                        Some(words) => (server_state.piece(words), Some(work.said.len())),
                        None => (server_state.end(), None),
                    }
                }
            };
            let event = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let event = format!("data: {event}\n\n");
            let next = next.map(|told| (server_state, id, work, Some(told)));
            Some((Ok::<_, std::convert::Infallible>(event), next))
        });
        let kind = [(CONTENT_TYPE, "text/event-stream")];
        (kind, Body::from_stream(events)).into_response()
    }

    fn state(&self, is_over: bool) -> &'static str {
        match (self.version, is_over) {
            (ProtocolVersion::Old, false) => "working",
            (ProtocolVersion::Old, true) => "completed",
            (ProtocolVersion::New, false) => "TASK_STATE_WORKING",
            (ProtocolVersion::New, true) => "TASK_STATE_COMPLETED",
        }
    }

    fn artifact(&self, words: &str) -> Value {
        let part = match self.version {
            ProtocolVersion::Old => json!({"kind": "text", "text": words}),
            ProtocolVersion::New => json!({"text": words}),
        };
        json!({"artifactId": "answer", "parts": [part]})
    }

    fn task(&self, work: &TaskState) -> Value {
        let mut task = json!({
            "id": "t", "contextId": "c", "status": {"state": self.state(work.is_over)}, "artifacts": [],
        });
        if !work.said.is_empty() {
            task["artifacts"] = json!([self.artifact(&work.said)]);
        }
        if self.version == ProtocolVersion::Old {
            task["kind"] = json!("task");
        }
        task
    }

    fn first(&self, work: &TaskState) -> Value {
        // The end is sent separately.
        let work = TaskState {
            is_over: false,
            ..work.clone()
        };
        match self.version {
            ProtocolVersion::Old => self.task(&work),
            ProtocolVersion::New => json!({"task": self.task(&work)}),
        }
    }

    fn piece(&self, words: &str) -> Value {
        let update = json!({
            "taskId": "t", "contextId": "c", "artifact": self.artifact(words), "append": true,
        });
        self.update("artifact-update", "artifactUpdate", update)
    }

    fn end(&self) -> Value {
        let update = json!({
            "taskId": "t", "contextId": "c", "status": {"state": self.state(true)}, "final": true,
        });
        self.update("status-update", "statusUpdate", update)
    }

    fn update(&self, old: &str, new: &str, mut update: Value) -> Value {
        match self.version {
            ProtocolVersion::Old => {
                update["kind"] = json!(old);
                update
            }
            ProtocolVersion::New => json!({new: update}),
        }
    }
}
