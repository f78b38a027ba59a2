//! A server whose subscriptions end before the task does. It is asked a bounded number of times.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use jackfield_model::End;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::remotes::harness::Near;

/// The server would say that the task is over when it was asked so often: a hub that storms ends the test soon.
const PATIENCE: usize = 400;

/// A server that is asked about one task.
struct Repeater {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Shared {
    heard: Arc<Mutex<Vec<String>>>,
    /// Whether each look at the task shows a word more.
    grows: bool,
}

impl Repeater {
    async fn start(grows: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::default();
        let shared = Shared {
            heard: Arc::clone(&heard),
            grows,
        };
        let card = json!({
            "name": "Repeater",
            "capabilities": {"streaming": true},
            "supportedInterfaces": [{"url": format!("{url}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        });
        let app = Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(async move || Json(card)),
            )
            .route("/rpc", post(answer))
            .with_state(shared);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url,
            heard,
            _server: server,
        }
    }

    fn asked_for(&self, method: &str) -> usize {
        let heard = self.heard.lock();
        heard.iter().filter(|heard| *heard == method).count()
    }
}

/// The task after it was asked for so often.
fn task(asked: usize, grows: bool, is_over: bool) -> Value {
    let words = "word ".repeat(if grows { asked } else { 0 });
    let artifacts = match words.is_empty() {
        true => json!([]),
        false => json!([{"artifactId": "a", "parts": [{"text": words}]}]),
    };
    let state = if is_over { "COMPLETED" } else { "WORKING" };
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}, "artifacts": artifacts})
}

async fn answer(State(shared): State<Shared>, Json(body): Json<Value>) -> Response {
    let method = body["method"].as_str().unwrap().to_owned();
    let asked = {
        let mut heard = shared.heard.lock();
        heard.push(method.clone());
        heard.len()
    };
    let is_look = method == "GetTask";
    let task = task(asked, shared.grows, is_look || asked > PATIENCE);
    let result = if is_look { task } else { json!({"task": task}) };
    let response = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
    if is_look {
        return Json(response).into_response();
    }
    let kind = [("content-type", "text/event-stream")];
    (kind, format!("data: {response}\n\n")).into_response()
}

/// Calls such a server; its answer and how often it was asked to subscribe, and for the task.
async fn called(grows: bool) -> (String, usize, usize) {
    let (near, far) = (Near::start().await, Repeater::start(grows).await);
    near.add(json!({"url": far.url, "id": "far"})).await;
    let (text, end) = near.call("far").await.unwrap();
    assert_eq!(end, End::done());
    (
        text,
        far.asked_for("SubscribeToTask"),
        far.asked_for("GetTask"),
    )
}

#[tokio::test]
async fn a_server_that_repeats_itself_and_closes_is_not_stormed() {
    let (_, subscribed, looked) = called(false).await;
    assert_eq!((subscribed, looked), (3, 1));
}

#[tokio::test]
async fn a_server_that_says_a_little_more_each_time_is_asked_a_bounded_number_of_times() {
    let (text, subscribed, looked) = called(true).await;
    assert_eq!((subscribed, looked), (100, 1));
    assert_eq!(text, "word ".repeat(102), "nothing is lost or told twice");
}
