//! A server with fixed responses: an agent behind HTTP, a chat completions server, and an A2A server.

use std::net::SocketAddr;

use axum::{
    Json, Router,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// Output of an agent that prints one JSON object per line.
pub(crate) const LINES: &str = concat!(
    r#"{"kind": "status", "text": "looking"}"#,
    "\n",
    r#"{"kind": "thinking", "text": "hm"}"#,
    "\n",
    r#"{"kind": "tool_start", "tool_name": "search", "tool_call_id": "t1"}"#,
    "\n",
    r#"{"kind": "tool_input", "tool_call_id": "t1", "text": "{\"q\":\"crabs\"}"}"#,
    "\n",
    r#"{"kind": "tool_result", "tool_call_id": "t1", "text": "3 hits"}"#,
    "\n",
    r#"{"kind": "text", "text": "three "}"#,
    "\n",
    r#"{"text": "crabs"}"#,
    "\n",
    r#"{"kind": "usage", "usage": {"tokens": 12}}"#,
    "\n",
    r#"{"kind": "stop_reason", "text": "end_turn"}"#,
    "\n",
);

/// The server; stopped when dropped.
pub(crate) struct Model {
    addr: SocketAddr,
    _serving: JoinSet<()>,
}

impl Model {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let routes = Router::new()
            .route("/chat", post(async || bytes("application/x-ndjson", LINES)))
            .route("/v1/models", get(async || Json(models())))
            .route("/v1/chat/completions", post(completion))
            .route(
                "/.well-known/agent-card.json",
                get(async move || Json(card(addr))),
            )
            .route("/a2a", post(stream));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            axum::serve(listener, routes).await.expect("it serves");
        });
        Self {
            addr,
            _serving: serving,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }
}

fn bytes(media: &'static str, body: impl Into<String>) -> Response {
    ([(CONTENT_TYPE, media)], body.into()).into_response()
}

fn events(data: impl Iterator<Item = String>) -> Response {
    let events: String = data.map(|data| format!("data: {data}\n\n")).collect();
    bytes("text/event-stream", events)
}

fn models() -> Value {
    json!({"object": "list", "data": [{"id": "llama", "object": "model"}]})
}

/// Tool calls of a model have no result.
async fn completion() -> Response {
    let piece = |delta: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let tool = json!({"index": 0, "id": "t1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":\"crabs\"}"}});
    let data = [
        piece(json!({"role": "assistant", "content": "", "reasoning_content": "hm"})),
        piece(json!({"tool_calls": [tool]})),
        piece(json!({"content": "three "})),
        piece(json!({"content": "crabs"})),
        json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"id": "c", "choices": [], "usage": {"total_tokens": 12}}),
    ];
    let data = data.iter().map(Value::to_string);
    events(data.chain(["[DONE]".to_owned()]))
}

fn card(addr: SocketAddr) -> Value {
    let url = format!("http://{addr}/a2a");
    json!({
        "name": "Remote", "description": "counts crabs", "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })
}

/// A task from start to end.
async fn stream(Json(asked): Json<Value>) -> Response {
    assert_eq!(asked["method"], "SendStreamingMessage", "{asked}");
    let status = |state: &str| json!({"state": format!("TASK_STATE_{state}")});
    let working = |words: &str, metadata: Value| {
        let mut status = status("WORKING");
        status["message"] =
            json!({"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": words}]});
        json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": status, "metadata": metadata}})
    };
    let made = |words: &str, append: bool| {
        let artifact = json!({"artifactId": "a-1", "parts": [{"text": words}]});
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": artifact, "append": append}})
    };
    let tool = |kind: &str| json!({"kind": format!("tool_{kind}"), "toolName": "search", "toolCallId": "t1"});
    let end = json!({"taskId": "t-1", "contextId": "c-1", "status": status("COMPLETED"), "metadata": {"stopReason": "end_turn"}});
    let results = [
        json!({"task": {"id": "t-1", "contextId": "c-1", "status": status("SUBMITTED")}}),
        working("looking", json!({})),
        working("hm", json!({"kind": "thinking"})),
        working("", tool("start")),
        working(r#"{"q":"crabs"}"#, tool("input")),
        working("3 hits", tool("result")),
        made("three ", false),
        made("crabs", true),
        json!({"statusUpdate": end}),
    ];
    let id = &asked["id"];
    events(
        results
            .iter()
            .map(|result| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()),
    )
}
