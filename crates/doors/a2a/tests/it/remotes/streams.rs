//! Servers of version 1.0 that stream, as newcomers write them: what goes wrong is told at once, and by its name.

use std::{io, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use jackfield_core::{
    call::Reply,
    principal::Principal,
    tap::{Direction, Sight, TapFilter},
};
use jackfield_kit::testing::soon;
use jackfield_model::{ChunkKind, End, Event};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::remotes::harness::{Near, id};

const TASK: &str = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
const ONE: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"one"}]}}}"#;
const TWO: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"two"}]}}}"#;
const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// A server that answers every message with the same text. It has no other methods.
struct Streamer {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    /// From then on every connection breaks.
    away: CancellationToken,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Shared {
    says: Arc<str>,
    kind: Option<&'static str>,
    heard: Arc<Mutex<Vec<String>>>,
    away: CancellationToken,
}

impl Streamer {
    /// `$ID` in what it says stands for the id of the request; after `$HANG` the stream stays open.
    async fn start(kind: Option<&'static str>, says: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::default();
        let away = CancellationToken::new();
        let shared = Shared {
            says: says.into(),
            kind,
            heard: Arc::clone(&heard),
            away: away.clone(),
        };
        let card = json!({
            "name": "Streamer",
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
            away,
            _server: server,
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().clone()
    }
}

async fn answer(State(shared): State<Shared>, Json(body): Json<Value>) -> Response {
    let method = body["method"].as_str().unwrap().to_owned();
    let is_message = method == "SendStreamingMessage";
    shared.heard.lock().push(method);
    if shared.away.is_cancelled() {
        return Body::from_stream(stream::iter([broken()])).into_response();
    }
    if !is_message {
        let error = json!({"code": -32601, "message": "no such method"});
        return Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": error})).into_response();
    }
    let says = shared.says.replace("$ID", &body["id"].to_string());
    let mut response = match says.strip_suffix("$HANG") {
        Some(says) => {
            let said = stream::iter([Ok(says.to_owned())]);
            let away = shared.away.clone();
            let end = stream::once(async move {
                away.cancelled().await;
                broken()
            });
            Body::from_stream(said.chain(end)).into_response()
        }
        None => says.into_response(),
    };
    match shared.kind {
        Some(kind) => {
            let kind = http::HeaderValue::from_static(kind);
            response.headers_mut().insert("content-type", kind);
        }
        None => drop(response.headers_mut().remove("content-type")),
    }
    response
}

fn broken() -> io::Result<String> {
    Err(io::ErrorKind::ConnectionReset.into())
}

/// These results as a stream.
fn streamed(results: &[&str]) -> String {
    let event =
        |result: &&str| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n\n");
    results.iter().map(event).collect()
}

/// What a caller is told, and what the server was asked for.
async fn called(kind: Option<&'static str>, says: &str) -> (String, End, Vec<String>) {
    let (near, far) = (Near::start().await, Streamer::start(kind, says).await);
    near.add(json!({"url": far.url, "id": "far"})).await;
    let (text, end) = near.call("far").await.unwrap();
    (text, end, far.heard())
}

const EVENTS: Option<&str> = Some("text/event-stream");

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_the_end_and_its_words_the_reason() {
    let error = r#"data: {"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"it broke in the middle"}}"#;
    let says = format!("{}{error}\n\n", streamed(&[TASK, ONE]));
    let (text, end, heard) = called(EVENTS, &says).await;
    assert_eq!(text, "one");
    let End::Failed(failure) = end else {
        panic!("{end:?}");
    };
    assert_eq!(failure.text, "it broke in the middle");
    assert_eq!(failure.reason.name(), "remote_internal");
    assert_eq!(heard, ["SendStreamingMessage"], "nothing was asked again");
}

#[tokio::test]
async fn a_stream_without_an_end_fails_at_once_if_the_task_cannot_be_looked_at() {
    let (text, end, heard) = called(EVENTS, &streamed(&[TASK, ONE])).await;
    assert_eq!(text, "one");
    assert!(
        format!("{end:?}").contains(
            "the stream ended without a final statusUpdate, and the server has no GetTask"
        ),
        "{end:?}"
    );
    assert_eq!(
        heard,
        ["SendStreamingMessage", "SubscribeToTask", "GetTask"]
    );
}

#[tokio::test]
async fn one_message_is_the_whole_answer_though_it_names_a_task() {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","taskId":"t","contextId":"c","parts":[{"text":"hi"}]}}"#;
    let (text, end, heard) = called(EVENTS, &streamed(&[message])).await;
    assert_eq!(text, "hi");
    assert!(
        matches!(&end, End::Done(done) if done.is_message),
        "{end:?}"
    );
    assert_eq!(heard, ["SendStreamingMessage"], "nobody looks for its task");
}

#[tokio::test]
async fn whoever_waits_for_a_server_that_is_away_is_told_so() {
    let says = format!("{}$HANG", streamed(&[TASK, ONE]));
    let (near, far) = (Near::start().await, Streamer::start(EVENTS, &says).await);
    near.add(json!({"url": far.url, "id": "far"})).await;
    let mut replies = near.start_call("far").unwrap().replies();
    let told = async {
        loop {
            match replies.next().await.unwrap() {
                Reply::Event(Event::Chunk(chunk)) if chunk.kind == ChunkKind::Status => {
                    return chunk.text;
                }
                Reply::Event(Event::Chunk(chunk)) if chunk.text == "one" => far.away.cancel(),
                Reply::Event(_) => {}
                Reply::End(end) => panic!("{end:?}"),
            }
        }
    };
    let told = soon(told).await;
    assert!(told.contains("the hub tries again for 5 minutes"), "{told}");
}

#[tokio::test]
async fn params_that_the_server_does_not_take_are_no_mistake_of_the_caller() {
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no parts"}}"#;
    let (_, end, _) = called(Some("application/json"), error).await;
    let End::Failed(failure) = end else {
        panic!("{end:?}");
    };
    assert_eq!(
        (failure.reason.name(), &*failure.text),
        ("invalid_params", "no parts")
    );
}

#[tokio::test]
async fn words_in_the_place_of_others_follow_them() {
    let (text, end, _) = called(EVENTS, &streamed(&[TASK, ONE, TWO, DONE])).await;
    assert_eq!((text.as_str(), end), ("one\ntwo", End::done()));
}

#[tokio::test]
async fn answers_that_make_no_sense_are_named() {
    let message = |fields: &str| format!(r#"{{"message":{{"messageId":"m",{fields}}}}}"#);
    let good = message(r#""role":"ROLE_AGENT","parts":[{"text":"x"}]"#);
    for (kind, says, why) in [
        (EVENTS, String::new(), "without a single event"),
        (
            None,
            streamed(&[TASK, DONE]),
            "Content-Type is missing; a stream needs text/event-stream",
        ),
        (
            Some("text/plain"),
            streamed(&[TASK, DONE]),
            "Content-Type is text/plain; a stream needs text/event-stream",
        ),
        (
            EVENTS,
            streamed(&[&message(r#""role":"ROLE_AGENT","content":"x""#)]),
            "message.parts is required",
        ),
        (
            EVENTS,
            streamed(&[&message(
                r#""role":"ROLE_ASSISTANT","parts":[{"text":"x"}]"#,
            )]),
            "message.role must be ROLE_USER or ROLE_AGENT",
        ),
        (
            EVENTS,
            streamed(&[r#"{"task":{"id":"t","status":{"state":"DONE"}}}"#]),
            "TASK_STATE_COMPLETED, TASK_STATE_FAILED",
        ),
        (
            EVENTS,
            streamed(&[r#"{"task":{"id":"t","status":{"state":"DONE"}}}"#]),
            "not \\\"DONE\\\"",
        ),
        (EVENTS, streamed(&[r#""ok""#]), "result must be an object"),
        (
            EVENTS,
            format!("data: {good}\n\n"),
            "each data: of a stream, must be a whole JSON-RPC response",
        ),
        (
            EVENTS,
            format!("data: {{\"id\":$ID,\"result\":{good}}}\n\n"),
            "jsonrpc must be \\\"2.0\\\"",
        ),
        (
            EVENTS,
            format!("data: {{\"jsonrpc\":\"2.0\",\"result\":{good}}}\n\n"),
            "its id is missing",
        ),
        (
            EVENTS,
            "data: {oops\n\n".to_owned(),
            "makes no sense: it is not valid JSON: key must be a string",
        ),
    ] {
        let (_, end, _) = called(kind, &says).await;
        let told = format!("{end:?}");
        assert!(told.contains(why), "{why}: {told}");
        assert!(told.contains("invalid_agent_response"), "{told}");
    }
}

#[tokio::test]
async fn whoever_watches_sees_what_the_server_is_told_and_says() {
    let near = Near::start().await;
    let far = Streamer::start(EVENTS, &streamed(&[TASK, ONE, DONE])).await;
    near.add(json!({"url": far.url, "id": "far"})).await;
    let filter = TapFilter {
        agent: Some(id("far")),
        raw: true,
        ..TapFilter::default()
    };
    let mut watching = near.hub.taps().watch(Principal::local(), filter);
    near.call("far").await.unwrap();
    let mut frames = Vec::new();
    while frames.len() < 4 {
        if let Sight::Frame(direction, text) = soon(watching.next()).await.sight {
            frames.push((direction, text));
        }
    }
    let directions: Vec<_> = frames.iter().map(|(direction, _)| *direction).collect();
    let [out, back] = [Direction::Out, Direction::In];
    assert_eq!(directions, [out, back, back, back]);
    assert!(frames[0].1.contains("SendStreamingMessage"), "{frames:?}");
    assert!(frames[2].1.contains("artifactUpdate"), "{frames:?}");
}
