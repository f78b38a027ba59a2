//! An A2A server, version 1.0, that forwards every request to the hub's team, and streams the answer. The hub dials the
//! server through a proxy; the server calls the hub directly.

mod asking;
mod task;

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::stream;
use jackfield_testkit::{FaultProxy, SOON};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{
        mpsc::{self, Receiver, Sender},
        watch,
    },
    task::JoinSet,
    time::timeout,
};

use self::{
    asking::TeamClient,
    task::{Task, TaskSubscription},
};
use crate::chains::{hub::Hub, laptop};

/// Larger than the number of cancellations between two checks of a test.
const ROOM: usize = 16;

/// What the server does with the call context from the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextHandling {
    /// Names the call when calling the hub, and leaves cancellation to the hub.
    ForwardsContext,
    /// Drops the context, like a server that knows no hub, and cancels its own requests itself.
    DropsContext,
}

/// The server.
pub(crate) struct Server {
    pub(crate) proxy: FaultProxy,
    server_state: ServerState,
    cancelled: Receiver<String>,
    _serving: JoinSet<()>,
}

/// State shared by all requests.
#[derive(Clone)]
struct ServerState {
    asking: TeamClient,
    handling: ContextHandling,
    tasks: Arc<Mutex<HashMap<String, watch::Sender<Task>>>>,
    cancelled: Sender<String>,
    work: Arc<Mutex<JoinSet<()>>>,
}

impl Server {
    /// Starts a server and adds it to the hub as an agent.
    pub(crate) async fn join(hub: &Hub, handling: ContextHandling) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let proxy = FaultProxy::start(addr).await;
        let url = format!("http://{}", proxy.addr());
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({
            "name": "server", "description": "Asks the team.", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": {"streaming": true}, "supportedInterfaces": [interface],
        });
        let (sender, cancelled) = mpsc::channel(ROOM);
        let server_state = ServerState {
            asking: TeamClient::of(hub),
            handling,
            tasks: Arc::default(),
            cancelled: sender,
            work: Arc::default(),
        };
        let routes = Router::new()
            .route("/.well-known/agent-card.json", get(|| async { Json(card) }))
            .route("/", post(serve))
            .with_state(server_state.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        hub.cli
            .run(&["add", &url, "--as", laptop::CALLS])
            .await
            .ok();
        Self {
            proxy,
            server_state,
            cancelled,
            _serving: serving,
        }
    }

    /// Checks that the next request to cancel is for the last task.
    pub(crate) async fn is_cancelled(&mut self) {
        let task = timeout(SOON, self.cancelled.recv()).await;
        let task = task.expect("it is told in time").expect("it serves");
        let tasks = self.server_state.tasks.lock().len();
        assert_eq!(task, format!("t-{tasks}"));
    }

    /// Waits for the end of the last task. Returns its state and its text.
    pub(crate) async fn ended(&self) -> (String, String) {
        let mut task = {
            let tasks = self.server_state.tasks.lock();
            tasks[&format!("t-{}", tasks.len())].subscribe()
        };
        let task = timeout(SOON, task.wait_for(Task::is_over)).await;
        let task = task.expect("it ends in time").expect("it is kept").clone();
        (task.state, task.text_so_far)
    }
}

async fn serve(
    State(server_state): State<ServerState>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let (id, params) = (body["id"].clone(), &body["params"]);
    let named = params["id"].as_str().unwrap_or_default();
    match body["method"].as_str().unwrap_or_default() {
        "SendStreamingMessage" => {
            let words = params["message"]["parts"][0]["text"].as_str();
            let words = words.expect("words").to_owned();
            let call = headers.get("jackfield-call").cloned();
            let call = call.filter(|_| server_state.handling == ContextHandling::ForwardsContext);
            let (task, updates) = server_state.begin();
            let asking = server_state.asking.clone();
            let work = async move { asking.ask(words, call, &task).await };
            server_state.work.lock().spawn(work);
            events(TaskSubscription::new(id, updates))
        }
        method => match server_state.find(named) {
            None => {
                let error = json!({"code": -32001, "message": "no such task"});
                Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
            }
            Some(task) if method == "SubscribeToTask" => {
                events(TaskSubscription::new(id, task.subscribe()))
            }
            Some(task) => {
                if method == "CancelTask" {
                    server_state.cancel(&task).await;
                }
                let task_json = task.borrow().to_json();
                Json(json!({"jsonrpc": "2.0", "id": id, "result": task_json})).into_response()
            }
        },
    }
}

impl ServerState {
    fn begin(&self) -> (watch::Sender<Task>, watch::Receiver<Task>) {
        let mut tasks = self.tasks.lock();
        let id = format!("t-{}", tasks.len() + 1);
        let (task, updates) = watch::channel(Task::new(id.clone()));
        tasks.insert(id, task.clone());
        (task, updates)
    }

    fn find(&self, id: &str) -> Option<watch::Sender<Task>> {
        self.tasks.lock().get(id).cloned()
    }

    async fn cancel(&self, task: &watch::Sender<Task>) {
        let (id, hub_task) = {
            let task = task.borrow();
            (task.id.clone(), task.hub_task.clone())
        };
        if self.handling == ContextHandling::DropsContext
            && let Some(hub_task) = hub_task
        {
            self.asking.cancel(&hub_task).await;
        }
        task.send_modify(|task| task.end("TASK_STATE_CANCELED", None));
        self.cancelled.send(id).await.expect("the test looks");
    }
}

fn events(subscription: TaskSubscription) -> Response {
    let events = stream::unfold(subscription, |mut subscription| async move {
        let event = subscription.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), subscription))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream")];
    (headers, Body::from_stream(events)).into_response()
}
