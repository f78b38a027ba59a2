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
    asking::Asking,
    task::{Task, Telling},
};
use crate::chains::{hub::Hub, laptop};

/// Larger than the number of cancellations between two checks of a test.
const ROOM: usize = 16;

/// What the server does with the call context from the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    /// Names the call when calling the hub, and leaves cancellation to the hub.
    PassesOn,
    /// Drops the context, like a server that knows no hub, and cancels its own requests itself.
    Forgets,
}

/// The server.
pub(crate) struct Server {
    pub(crate) line: FaultProxy,
    desk: Desk,
    cancelled: Receiver<String>,
    _serving: JoinSet<()>,
}

/// State shared by all requests.
#[derive(Clone)]
struct Desk {
    asking: Asking,
    manners: Manners,
    tasks: Arc<Mutex<HashMap<String, watch::Sender<Task>>>>,
    cancelled: Sender<String>,
    work: Arc<Mutex<JoinSet<()>>>,
}

impl Server {
    /// Starts a server and adds it to the hub as an agent.
    pub(crate) async fn join(hub: &Hub, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let line = FaultProxy::start(addr).await;
        let url = format!("http://{}", line.addr());
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({
            "name": "server", "description": "Asks the team.", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": {"streaming": true}, "supportedInterfaces": [interface],
        });
        let (tell, cancelled) = mpsc::channel(ROOM);
        let desk = Desk {
            asking: Asking::of(hub),
            manners,
            tasks: Arc::default(),
            cancelled: tell,
            work: Arc::default(),
        };
        let routes = Router::new()
            .route("/.well-known/agent-card.json", get(|| async { Json(card) }))
            .route("/", post(serve))
            .with_state(desk.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        hub.cli
            .run(&["add", &url, "--as", laptop::CALLS])
            .await
            .ok();
        Self {
            line,
            desk,
            cancelled,
            _serving: serving,
        }
    }

    /// Checks that the next request to cancel is for the last task.
    pub(crate) async fn is_cancelled(&mut self) {
        let task = timeout(SOON, self.cancelled.recv()).await;
        let task = task.expect("it is told in time").expect("it serves");
        let tasks = self.desk.tasks.lock().len();
        assert_eq!(task, format!("t-{tasks}"));
    }

    /// Waits for the end of the last task. Returns its state and its text.
    pub(crate) async fn ended(&self) -> (String, String) {
        let mut task = {
            let tasks = self.desk.tasks.lock();
            tasks[&format!("t-{}", tasks.len())].subscribe()
        };
        let task = timeout(SOON, task.wait_for(Task::is_over)).await;
        let task = task.expect("it ends in time").expect("it is kept").clone();
        (task.state, task.said)
    }
}

async fn serve(State(desk): State<Desk>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let (id, params) = (body["id"].clone(), &body["params"]);
    let named = params["id"].as_str().unwrap_or_default();
    match body["method"].as_str().unwrap_or_default() {
        "SendStreamingMessage" => {
            let words = params["message"]["parts"][0]["text"].as_str();
            let words = words.expect("words").to_owned();
            let call = headers.get("jackfield-call").cloned();
            let call = call.filter(|_| desk.manners == Manners::PassesOn);
            let (task, told) = desk.begin();
            let asking = desk.asking.clone();
            let work = async move { asking.ask(words, call, &task).await };
            desk.work.lock().spawn(work);
            events(Telling::new(id, told))
        }
        method => match desk.find(named) {
            None => {
                let error = json!({"code": -32001, "message": "no such task"});
                Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
            }
            Some(task) if method == "SubscribeToTask" => events(Telling::new(id, task.subscribe())),
            Some(task) => {
                if method == "CancelTask" {
                    desk.cancel(&task).await;
                }
                let shown = task.borrow().shown();
                Json(json!({"jsonrpc": "2.0", "id": id, "result": shown})).into_response()
            }
        },
    }
}

impl Desk {
    fn begin(&self) -> (watch::Sender<Task>, watch::Receiver<Task>) {
        let mut tasks = self.tasks.lock();
        let id = format!("t-{}", tasks.len() + 1);
        let (task, told) = watch::channel(Task::new(id.clone()));
        tasks.insert(id, task.clone());
        (task, told)
    }

    fn find(&self, id: &str) -> Option<watch::Sender<Task>> {
        self.tasks.lock().get(id).cloned()
    }

    async fn cancel(&self, task: &watch::Sender<Task>) {
        let (id, asked) = {
            let task = task.borrow();
            (task.id.clone(), task.asked.clone())
        };
        if self.manners == Manners::Forgets
            && let Some(asked) = asked
        {
            self.asking.cancel(&asked).await;
        }
        task.send_modify(|task| task.end("TASK_STATE_CANCELED", None));
        self.cancelled.send(id).await.expect("the test looks");
    }
}

fn events(telling: Telling) -> Response {
    let events = stream::unfold(telling, |mut telling| async move {
        let event = telling.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), telling))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream")];
    (headers, Body::from_stream(events)).into_response()
}
