//! The yardstick of A2A: an echo agent on plain axum that answers the same JSON as the hub, and nothing else. It
//! reads the request by types, makes a task id by counting, and stores nothing.
//!
//! It serves a card, `SendMessage`, and `SendStreamingMessage` as server-sent events.

use std::{
    borrow::Cow,
    convert::Infallible,
    future::ready,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::{net::TcpListener, time::sleep};

use crate::question::YOU_SAID;

/// Path of the card.
const CARD: &str = "/.well-known/agent-card.json";
/// Pause between the first piece of a streamed answer and the rest.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Clone)]
struct Shared {
    tasks: Arc<AtomicU64>,
    card: Bytes,
}

/// Serves until killed; the only line on stdout is the address.
pub(crate) async fn serve(listen: SocketAddr, is_streaming: bool) -> Result<()> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))?;
    let addr = listener.local_addr()?;
    println!("bare A2A server listens on http://{addr}");
    let shared = Shared {
        tasks: Arc::default(),
        card: card(addr, is_streaming).into(),
    };
    let app = Router::new()
        .route("/", post(answer))
        .route(
            CARD,
            get(async |State(shared): State<Shared>| json(shared.card)),
        )
        .with_state(shared);
    let listener = listener.tap_io(|tcp| {
        // Without it, small writes of a stream wait for each other.
        tcp.set_nodelay(true).ok();
    });
    axum::serve(listener, app).await?;
    Ok(())
}

fn card(addr: SocketAddr, is_streaming: bool) -> String {
    format!(
        r#"{{"name":"Echo","description":"Repeats what it is told","version":"1","capabilities":{{"streaming":{is_streaming}}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"echo","name":"Echo","description":"Repeats","tags":["echo"]}}],"supportedInterfaces":[{{"url":"http://{addr}/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}]}}"#
    )
}

fn json(body: impl Into<Body>) -> Response {
    let head = [(header::CONTENT_TYPE, "application/json")];
    (head, body.into()).into_response()
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    message_id: Cow<'a, str>,
    #[serde(borrow)]
    context_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Outcome<'a> {
    Task {
        id: &'a str,
        context_id: &'a str,
        status: Status,
        #[serde(skip_serializing_if = "Option::is_none")]
        artifacts: Option<[Artifact<'a>; 1]>,
        history: &'a [PastMessage<'a>],
    },
    ArtifactUpdate {
        task_id: &'a str,
        context_id: &'a str,
        artifact: Artifact<'a>,
        append: bool,
    },
    StatusUpdate {
        task_id: &'a str,
        context_id: &'a str,
        status: Status,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PastMessage<'a> {
    message_id: &'a str,
    context_id: &'a str,
    task_id: &'a str,
    role: &'a str,
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Status {
    state: &'static str,
    timestamp: Timestamp,
}

impl Status {
    fn now(state: &'static str) -> Self {
        let timestamp = Timestamp::now();
        Self { state, timestamp }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    artifact_id: &'static str,
    name: &'static str,
    parts: [Part<'a>; 1],
}

impl<'a> Artifact<'a> {
    fn new(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            artifact_id: "reply",
            name: "reply",
            parts: [Part { text: text.into() }],
        }
    }
}

async fn answer(State(shared): State<Shared>, body: Bytes) -> Response {
    match answer_to(&shared.tasks, &body) {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

fn answer_to(tasks: &AtomicU64, body: &[u8]) -> Result<Response> {
    let Request { id, method, params } = serde_json::from_slice(body)?;
    let message = params.message;
    let number = tasks.fetch_add(1, Ordering::Relaxed);
    let task_id = format!("019a0000-0000-7000-8000-{number:012}");
    let context_id = message.context_id.unwrap_or(Cow::Borrowed(&task_id));
    let text = message.parts.into_iter().next().context("no part")?.text;
    let write = |result| {
        serde_json::to_string(&Answer {
            jsonrpc: "2.0",
            id,
            result,
        })
    };
    let past = |message_id, role, text: &str| PastMessage {
        message_id,
        context_id: &context_id,
        task_id: &task_id,
        role,
        parts: [Part {
            text: Cow::Owned(text.to_owned()),
        }],
    };
    let asked = past(&message.message_id, &message.role, &text);
    if method == "SendMessage" {
        let (reply, reply_id) = (format!("{YOU_SAID}{text}"), format!("{task_id}-reply"));
        return Ok(json(write(Outcome::Task {
            id: &task_id,
            context_id: &context_id,
            status: Status::now("TASK_STATE_COMPLETED"),
            artifacts: Some([Artifact::new(reply.as_str())]),
            history: &[asked, past(&reply_id, "ROLE_AGENT", &reply)],
        })?));
    }
    let begin = Outcome::Task {
        id: &task_id,
        context_id: &context_id,
        status: Status::now("TASK_STATE_WORKING"),
        artifacts: None,
        history: &[asked],
    };
    let piece = |text: &str, append| Outcome::ArtifactUpdate {
        task_id: &task_id,
        context_id: &context_id,
        artifact: Artifact::new(text.to_owned()),
        append,
    };
    let end = Outcome::StatusUpdate {
        task_id: &task_id,
        context_id: &context_id,
        status: Status::now("TASK_STATE_COMPLETED"),
    };
    let at_once = events(&[write(begin)?, write(piece(YOU_SAID, false))?]);
    let later = events(&[write(piece(&text, true))?, write(end)?]);
    Ok(stream(at_once, later))
}

fn events(events: &[String]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

/// Returns a stream that begins at once and ends a moment later, as a model that writes.
fn stream(at_once: String, later: String) -> Response {
    let later = async {
        sleep(PAUSE).await;
        Ok::<_, Infallible>(later)
    };
    let pieces = stream::once(ready(Ok(at_once))).chain(stream::once(later));
    let head = [(header::CONTENT_TYPE, "text/event-stream")];
    (head, Body::from_stream(pieces)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    async fn body_of(request: &Value) -> String {
        let response = answer_to(&AtomicU64::new(3), request.to_string().as_bytes()).unwrap();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await;
        String::from_utf8(body.unwrap().to_vec()).unwrap()
    }

    fn request(method: &str) -> Value {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": {"message": message}})
    }

    #[tokio::test]
    async fn a_message_is_answered_with_a_complete_task_that_repeats_it() {
        let answer: Value = serde_json::from_str(&body_of(&request("SendMessage")).await).unwrap();
        let task = &answer["result"]["task"];
        assert_eq!(answer["id"], "r");
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "You said: hi");
        assert_eq!(task["history"][0]["messageId"], "m");
        assert_eq!(task["history"][1]["parts"][0]["text"], "You said: hi");
    }

    #[tokio::test]
    async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
        let body = body_of(&request("SendStreamingMessage")).await;
        let events: Vec<Value> = body
            .split_terminator("\n\n")
            .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
            .collect();
        let text =
            |at: usize| &events[at]["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"];
        assert_eq!(events.len(), 4);
        assert!(events[0]["result"]["task"].is_object());
        assert_eq!((text(1), text(2)), (&json!("You said: "), &json!("hi")));
        let end = &events[3]["result"]["statusUpdate"]["status"]["state"];
        assert_eq!(end, "TASK_STATE_COMPLETED");
    }
}
