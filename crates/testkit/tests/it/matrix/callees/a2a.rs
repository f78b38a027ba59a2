//! A server of the official protocol, version 1.0, that the hub dials: JSON-RPC, and event streams that the test
//! writes one by one.

use std::{convert::Infallible, sync::Arc};

use crate::matrix::protocol::Protocol;
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::stream;
use jackfield_testkit::{SOON, TestHub};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
};

use crate::matrix::{
    callee::{Callee, EndNotice, FAILURE_WORDS, PIECE, piece},
    caller::QUESTION,
    event::{FILE_BASE64, FILE_NAME, text},
    setup::Owner,
};

/// Larger than the number of requests between two checks of a test.
const ASKED: usize = 16;

/// A request, and the channel for its events.
struct Asked {
    body: Value,
    events: Sender<String>,
}

/// State of the server.
#[derive(Clone)]
struct ServerState {
    asked: Sender<Asked>,
    task: Arc<Mutex<Task>>,
}

/// The current task, for requests that read it.
#[derive(Default)]
struct Task {
    state: String,
    said: String,
}

impl Task {
    fn shown(&self) -> Value {
        let mut task = json!({"id": "t-1", "contextId": "c-1", "status": {"state": self.state}});
        if !self.said.is_empty() {
            let artifact = json!({"artifactId": "a-1", "parts": [{"text": self.said}]});
            task["artifacts"] = json!([artifact]);
        }
        task
    }
}

pub(crate) struct A2a {
    asked: Receiver<Asked>,
    task: Arc<Mutex<Task>>,
    /// The request being answered.
    open: Option<Asked>,
    call: String,
    _server: JoinSet<()>,
}

/// Answers a message with a stream that the test writes, and a request about the task with the task.
async fn serve(State(server_state): State<ServerState>, Json(body): Json<Value>) -> Response {
    let (events, written) = mpsc::channel(1);
    let id = body["id"].clone();
    let method = text(&body["method"]);
    let whole = |task: Value| Json(json!({"jsonrpc": "2.0", "id": id, "result": task}));
    if method == "GetTask" {
        return whole(server_state.task.lock().shown()).into_response();
    }
    // The test may have closed the channel.
    server_state.asked.send(Asked { body, events }).await.ok();
    if method == "CancelTask" {
        server_state.task.lock().state = "TASK_STATE_CANCELED".to_owned();
        return whole(server_state.task.lock().shown()).into_response();
    }
    let events = stream::unfold(written, |mut written: Receiver<String>| async move {
        let event = written.recv().await?;
        Some((Ok::<_, Infallible>(event), written))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream")];
    (headers, Body::from_stream(events)).into_response()
}

impl A2a {
    /// Returns the next request, which must have this method.
    async fn expect(&mut self, method: &str) -> Asked {
        let asked = tokio::time::timeout(SOON, self.asked.recv()).await;
        let asked = asked.expect("the hub asks in time").unwrap();
        assert_eq!(asked.body["method"], method, "{}", asked.body);
        asked
    }

    /// Writes an event; false if the reader has disconnected.
    async fn write(&mut self, result: Value) -> bool {
        let Some(Asked { body, events }) = &self.open else {
            panic!("nobody asked");
        };
        let event = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        events.send(format!("data: {event}\n\n")).await.is_ok()
    }

    async fn status(&mut self, state: &str, words: Option<&str>, metadata: Value) {
        let mut status = json!({"state": state});
        self.task.lock().state = state.to_owned();
        if let Some(words) = words {
            status["message"] = json!({"messageId": format!("s-{words}"), "role": "ROLE_AGENT", "parts": [{"text": words}]});
        }
        let update =
            json!({"taskId": "t-1", "contextId": "c-1", "status": status, "metadata": metadata});
        assert!(self.write(json!({"statusUpdate": update})).await);
    }

    async fn part(&mut self, artifact: &str, part: Value, append: bool) -> bool {
        let artifact = json!({"artifactId": artifact, "parts": [part]});
        let update =
            json!({"taskId": "t-1", "contextId": "c-1", "artifact": artifact, "append": append});
        self.write(json!({"artifactUpdate": update})).await
    }

    async fn text(&mut self, words: &str) -> bool {
        let append = {
            let said = &mut self.task.lock().said;
            said.push_str(words);
            said.len() > words.len()
        };
        self.part("a-1", json!({"text": words}), append).await
    }

    async fn tells_task(&mut self) {
        let task = self.task.lock().shown();
        // A short call may be over by now.
        self.write(json!({"task": task})).await;
    }
}

impl Callee for A2a {
    const PROTOCOL: Protocol = Protocol::A2a;
    const ASK: &'static str = "input-1";

    async fn join(hub: &TestHub, owner: &Owner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({
            "name": "agent", "description": "An agent.", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": {"streaming": true}, "supportedInterfaces": [interface],
        });
        let (ask, asked) = mpsc::channel(ASKED);
        let task = Arc::<Mutex<Task>>::default();
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(|| async { Json(card) }))
            .route("/", post(serve))
            .with_state(ServerState {
                asked: ask,
                task: task.clone(),
            });
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        let remote = json!({"url": url, "id": "agent"});
        let (status, answer) = owner.web(hub).post("/v1/remotes", remote).await;
        assert_eq!(status, 201, "{answer}");
        Self {
            asked,
            task,
            open: None,
            call: String::new(),
            _server: server,
        }
    }

    fn id(&self) -> String {
        "agent".to_owned()
    }

    async fn receive_call(&mut self) {
        let asked = self.expect("SendStreamingMessage").await;
        let message = &asked.body["params"]["message"];
        assert_eq!(message["parts"][0]["text"], QUESTION, "{message}");
        self.call = text(&message["messageId"]);
        self.open = Some(asked);
        self.task.lock().state = "TASK_STATE_WORKING".to_owned();
        self.tells_task().await;
    }

    fn call(&self) -> String {
        self.call.clone()
    }

    async fn answers_at_once(&mut self, words: &str) {
        *self.task.lock() = Task {
            state: "TASK_STATE_COMPLETED".to_owned(),
            said: words.to_owned(),
        };
        self.tells_task().await;
        self.open = None;
    }

    async fn send_text(&mut self, words: &str) {
        assert!(self.text(words).await);
    }

    async fn works(&mut self) {
        let working = "TASK_STATE_WORKING";
        self.status(working, Some("hm"), json!({"kind": "thinking"}))
            .await;
        self.status(working, Some("reading"), json!({"kind": "status"}))
            .await;
        let tool = |kind| json!({"kind": kind, "toolName": "Bash", "toolCallId": "t-1"});
        self.status(working, Some(""), tool("tool_start")).await;
        self.status(working, Some("ok"), tool("tool_result")).await;
    }

    async fn ends_with_file(&mut self) {
        let file = json!({"raw": FILE_BASE64, "filename": FILE_NAME, "mediaType": "text/plain"});
        assert!(self.part("a-2", file, false).await);
        self.ends().await;
    }

    async fn asks(&mut self, question: &str) {
        self.status("TASK_STATE_INPUT_REQUIRED", Some(question), json!({}))
            .await;
        self.open = None;
    }

    async fn is_answered(&mut self) -> String {
        let asked = self.expect("SendStreamingMessage").await;
        let message = asked.body["params"]["message"].clone();
        assert_eq!(message["taskId"], "t-1", "{message}");
        self.open = Some(asked);
        text(&message["parts"][0]["text"])
    }

    async fn ends(&mut self) {
        self.status("TASK_STATE_COMPLETED", None, json!({})).await;
        self.open = None;
    }

    async fn fails(&mut self) {
        self.status("TASK_STATE_FAILED", Some(FAILURE_WORDS), json!({}))
            .await;
        self.open = None;
    }

    /// Ends the stream in the middle.
    async fn leaves(&mut self) {
        self.open = None;
    }

    async fn resume_call(&mut self) {
        self.open = Some(self.expect("SubscribeToTask").await);
        self.tells_task().await;
    }

    async fn end_notice(&mut self) -> EndNotice {
        let asked = self.expect("CancelTask").await;
        assert_eq!(asked.body["params"]["id"], "t-1", "{}", asked.body);
        EndNotice::Cancel
    }

    async fn floods(&mut self, bytes: usize) {
        let piece = piece();
        for _ in 0..bytes / PIECE {
            if !self.text(&piece).await {
                return;
            }
        }
    }
}
