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
pub(crate) enum Speaks {
    Old,
    New,
}

/// The server.
pub(crate) struct Server {
    addr: SocketAddr,
    desk: Desk,
    serving: JoinSet<()>,
}

/// State shared by all requests.
#[derive(Clone)]
struct Desk {
    speaks: Speaks,
    work: watch::Sender<Work>,
    asked: Arc<Mutex<Vec<String>>>,
    /// Number of received messages.
    begun: watch::Sender<usize>,
}

/// The state of the task.
#[derive(Clone, Default)]
struct Work {
    said: String,
    is_over: bool,
    is_forgotten: bool,
}

impl Server {
    pub(crate) async fn start(speaks: Speaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let desk = Desk {
            speaks,
            work: watch::Sender::default(),
            asked: Arc::default(),
            begun: watch::Sender::default(),
        };
        let mut server = Self {
            addr: listener.local_addr().expect("an address"),
            desk,
            serving: JoinSet::new(),
        };
        server.serve(listener);
        server
    }

    fn serve(&mut self, listener: TcpListener) {
        let url = format!("http://{}/", self.addr);
        let card = match self.desk.speaks {
            Speaks::Old => json!({
                "name": "server", "protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC",
                "capabilities": {"streaming": true},
            }),
            Speaks::New => json!({
                "name": "server", "capabilities": {"streaming": true},
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            }),
        };
        let routes = Router::new()
            .route("/.well-known/agent-card.json", get(|| async { Json(card) }))
            .route("/", post(answer))
            .with_state(self.desk.clone());
        self.serving
            .spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
    }

    /// The configuration that adds the server to a hub.
    pub(crate) fn config(&self) -> String {
        format!("[[agent]]\nid = \"far\"\nurl = \"http://{}\"\n", self.addr)
    }

    /// Waits for a message.
    pub(crate) async fn is_asked(&self) {
        let mut begun = self.desk.begun.subscribe();
        let begun = timeout(SOON, begun.wait_for(|begun| *begun > 0)).await;
        begun.expect("a message").expect("it serves");
    }

    /// Sends more of the answer.
    pub(crate) fn says(&self, words: &str) {
        let more = |work: &mut Work| work.said.push_str(words);
        self.desk.work.send_modify(more);
    }

    /// Completes the task.
    pub(crate) fn ends(&self) {
        self.desk.work.send_modify(|work| work.is_over = true);
    }

    /// Forgets the task.
    pub(crate) fn forgets(&self) {
        self.desk.work.send_modify(|work| work.is_forgotten = true);
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
    pub(crate) fn asked(&self) -> Vec<String> {
        self.desk.asked.lock().clone()
    }
}

async fn answer(State(desk): State<Desk>, Json(body): Json<Value>) -> Response {
    let method = body["method"].as_str().expect("a method").to_owned();
    let id = body["id"].clone();
    desk.asked.lock().push(method.clone());
    let work = desk.work.subscribe();
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
            let task = desk.task(&work.borrow());
            Json(json!({"jsonrpc": "2.0", "id": id, "result": task})).into_response()
        }
        "SendStreamingMessage" | "message/stream" => {
            desk.begun.send_modify(|begun| *begun += 1);
            desk.events(id, work)
        }
        "SubscribeToTask" if !work.borrow().is_over => desk.events(id, work),
        _ => {
            let error = json!({"code": -32004, "message": "not now"});
            Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
        }
    }
}

impl Desk {
    /// Streams the task, then its text, and its end.
    fn events(&self, id: Value, work: watch::Receiver<Work>) -> Response {
        let told = (self.clone(), id, work, None::<usize>);
        let events = stream::unfold(Some(told), |told| async {
            let (desk, id, mut work, told) = told?;
            let (result, next) = match told {
                None => {
                    let work = work.borrow_and_update();
                    (desk.first(&work), Some(work.said.len()))
                }
                Some(before) => {
                    let more = |work: &Work| work.said.len() > before || work.is_over;
                    let work = work.wait_for(more).await.ok()?;
                    match work.said.get(before..).filter(|words| !words.is_empty()) {
                        Some(words) => (desk.piece(words), Some(work.said.len())),
                        None => (desk.end(), None),
                    }
                }
            };
            let event = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let event = format!("data: {event}\n\n");
            let next = next.map(|told| (desk, id, work, Some(told)));
            Some((Ok::<_, std::convert::Infallible>(event), next))
        });
        let kind = [(CONTENT_TYPE, "text/event-stream")];
        (kind, Body::from_stream(events)).into_response()
    }

    fn state(&self, is_over: bool) -> &'static str {
        match (self.speaks, is_over) {
            (Speaks::Old, false) => "working",
            (Speaks::Old, true) => "completed",
            (Speaks::New, false) => "TASK_STATE_WORKING",
            (Speaks::New, true) => "TASK_STATE_COMPLETED",
        }
    }

    fn artifact(&self, words: &str) -> Value {
        let part = match self.speaks {
            Speaks::Old => json!({"kind": "text", "text": words}),
            Speaks::New => json!({"text": words}),
        };
        json!({"artifactId": "answer", "parts": [part]})
    }

    fn task(&self, work: &Work) -> Value {
        let mut task = json!({
            "id": "t", "contextId": "c", "status": {"state": self.state(work.is_over)}, "artifacts": [],
        });
        if !work.said.is_empty() {
            task["artifacts"] = json!([self.artifact(&work.said)]);
        }
        if self.speaks == Speaks::Old {
            task["kind"] = json!("task");
        }
        task
    }

    fn first(&self, work: &Work) -> Value {
        // The end is sent separately.
        let work = Work {
            is_over: false,
            ..work.clone()
        };
        match self.speaks {
            Speaks::Old => self.task(&work),
            Speaks::New => json!({"task": self.task(&work)}),
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
        match self.speaks {
            Speaks::Old => {
                update["kind"] = json!(old);
                update
            }
            Speaks::New => json!({new: update}),
        }
    }
}
