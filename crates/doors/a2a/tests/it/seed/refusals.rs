//! The validation table, row by row, over raw bodies at both routes: code, text, HTTP status, the id of the answer. No
//! bad body reaches an agent, and none is a fault of the hub.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::seed::harness::{A2aHub, CURL, PARTS, SEND, STREAM, answered, changed, error, told};

/// A body, and the status, code, id and message that it gets.
type Row = (String, u16, i64, &'static str, String);

fn row(body: String, code: i64, message: &str) -> Row {
    (body, 400, code, "req-1", message.to_owned())
}

fn unnamed(body: String, code: i64, message: &str) -> Row {
    (body, 400, code, "", message.to_owned())
}

fn envelopes() -> Vec<Row> {
    let parse = "Failed to parse JSON";
    let batch = "invalid request: batches are not supported, send one request at a time";
    let deep = format!(
        r#""role": "user", "metadata": {}{}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    vec![
        unnamed(String::new(), -32700, parse),
        unnamed("nonsense".into(), -32700, parse),
        unnamed("{".into(), -32700, parse),
        unnamed(format!("{CURL} {{}}"), -32700, parse),
        unnamed("\"text\"".into(), -32700, parse),
        unnamed("null".into(), -32700, parse),
        unnamed(changed("\"req-1\"", "{}"), -32700, parse),
        unnamed(changed("\"req-1\"", "[1]"), -32700, parse),
        unnamed(changed("\"req-1\"", "true"), -32700, parse),
        unnamed(changed("\"2.0\"", "2.0"), -32700, parse),
        unnamed(changed("\"user\"", "1"), -32700, parse),
        unnamed(changed(PARTS, "\"Hello!\""), -32700, parse),
        unnamed(changed("\"id\"", "\"id\": \"x\", \"id\""), -32700, parse),
        unnamed("[]".into(), -32600, batch),
        unnamed(format!("[{CURL}]"), -32600, batch),
        unnamed(
            changed("\"role\": \"user\"", &deep),
            -32600,
            "invalid request: nested deeper than 64 levels",
        ),
        row(
            changed("\"2.0\"", "\"1.0\""),
            -32600,
            "invalid jsonrpc version: expected '2.0', got '1.0'",
        ),
        row(
            changed("\"jsonrpc\": \"2.0\",", ""),
            -32600,
            "invalid jsonrpc version: expected '2.0', got ''",
        ),
        row(
            changed("message/send", "tasks/get"),
            -32601,
            "invalid method: expected 'message/send' or 'message/stream', got 'tasks/get'",
        ),
        unnamed(
            changed("\"id\": \"req-1\",", ""),
            -32600,
            "request id is required",
        ),
        unnamed(
            changed("\"req-1\"", "\"\""),
            -32600,
            "request id is required",
        ),
        unnamed(
            changed("\"req-1\"", "null"),
            -32600,
            "request id is required",
        ),
    ]
}

fn messages() -> Vec<Row> {
    let no_id = "invalid message: messageId is required";
    vec![
        row(
            r#"{"jsonrpc":"2.0","method":"message/send","id":"req-1"}"#.into(),
            -32600,
            no_id,
        ),
        row(changed("\"msg-1\"", "\"\""), -32600, no_id),
        row(changed("messageId", "MessageId"), -32600, no_id),
        row(
            changed("\"user\"", "\"robot\""),
            -32600,
            "invalid message: invalid role: expected 'user' or 'agent', got 'robot'",
        ),
        row(
            changed("\"my-agent\"", "\"\""),
            -32600,
            "Invalid request: agentId is required",
        ),
        row(
            changed(PARTS, "[]"),
            -32600,
            "invalid message: at least one message part is required",
        ),
        row(
            changed("\"msg-1\"", "\"a\\u0000b\""),
            -32602,
            "invalid message: messageId: an id chosen by a peer has 1 to 256 bytes and no control characters",
        ),
        row(
            changed("\"session-123\"", "\"a\\nb\""),
            -32602,
            "invalid message: contextId: an id chosen by a peer has 1 to 256 bytes and no control characters",
        ),
        row(
            changed(
                "\"role\"",
                "\"metadata\": {\"jackfield_call\": 1}, \"role\"",
            ),
            -32602,
            "invalid message: metadata.jackfield_call: not the id of a call",
        ),
    ]
}

fn parts() -> Vec<Row> {
    let reasons = [
        (
            r#"{"kind": "text"}"#,
            "text part requires non-empty text field",
        ),
        (r#"{"kind": "file"}"#, "file part requires file field"),
        (
            r#"{"kind": "file", "file": {"mimeType": "a/b"}}"#,
            "file part requires either uri or bytes field",
        ),
        (
            r#"{"kind": "file", "file": {"uri": "https://e/f"}}"#,
            "file part requires mimeType field",
        ),
        (r#"{"kind": "data"}"#, "data part requires data field"),
        (
            r#"{"kind": "data", "data": {"mimeType": "a/b"}}"#,
            "data part requires non-empty content field",
        ),
        (
            r#"{"kind": "data", "data": {"content": "x"}}"#,
            "data part requires mimeType field",
        ),
        (
            r#"{"kind": "video", "video": {}}"#,
            "invalid part kind: expected 'text', 'file', or 'data', got 'video'",
        ),
    ];
    let part = |(part, reason): (&str, &str)| {
        let parts = format!(r#"[{{"kind": "text", "text": "x"}}, {part}]"#);
        let message = format!("invalid message: invalid part at index 1: {reason}");
        row(changed(PARTS, &parts), -32600, &message)
    };
    let base64 = |mime: &str, what: &str| {
        let file = format!(r#"{{"bytes": "no base64", "mimeType": "{mime}"}}"#);
        let parts = format!(r#"[{{"kind": "file", "file": {file}}}]"#);
        let message = format!(
            "failed to process {what}: failed to decode base64 {what}: illegal base64 data at input byte 2"
        );
        row(changed(PARTS, &parts), -32602, &message)
    };
    let mut rows: Vec<Row> = reasons.into_iter().map(part).collect();
    rows.push(base64("image/png", "image"));
    rows.push(base64("audio/wav", "audio"));
    rows.push(base64("text/plain", "file"));
    rows
}

fn entities() -> Vec<Row> {
    // Whether the agent exists is looked at before the bytes of its files are.
    let parts = r#"[{"kind": "file", "file": {"bytes": "*", "mimeType": "a/b"}}]"#;
    let unknown = CURL.replace("my-agent", "nobody").replace(PARTS, parts);
    let rows = [
        (unknown, "entity 'nobody' not found"),
        (
            changed("my-agent", "not an id!"),
            "entity 'not an id!' not found",
        ),
    ];
    let row = |(body, message): (String, &str)| (body, 404, -32000, "req-1", message.to_owned());
    rows.into_iter().map(row).collect()
}

#[tokio::test]
async fn every_row_of_the_table_is_told_at_both_routes_and_reaches_no_agent() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let rows = [envelopes(), messages(), parts(), entities()].concat();
    for (body, status, code, id, message) in &rows {
        for path in [SEND, STREAM] {
            let (got, mut answer) = hub.post(path, body.as_str()).await;
            // What is wrong exactly is told besides, and checked where it is made.
            if *code == -32700 {
                let detail = answer["error"].as_object_mut().unwrap().remove("data");
                assert!(detail.unwrap()["detail"].is_string(), "{body}");
            }
            assert_eq!(answer, error(*id, *code, message), "{path}: {body}");
            assert_eq!(got.as_u16(), *status, "{body}");
        }
    }
    assert!(agent.has_nothing_to_do());
    let metrics = hub.hub.metrics().render();
    assert!(metrics.contains("refused_total{door=\"a2a\"}"), "{metrics}");
    // The hub is none the worse for it.
    let ((status, _), _) = tokio::join!(hub.post(SEND, CURL), answered(&mut agent, "ok"));
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn what_cannot_be_read_is_named_by_its_field() {
    let hub = A2aHub::start().await;
    let body = changed("\"text\": \"Hello!\"", "\"text\": 5");
    let (_, answer) = hub.post(SEND, body).await;
    let detail = "field \"params.message.parts[0].text\" must be a string";
    assert_eq!(answer["error"]["data"]["detail"], detail);
    let (_, answer) = hub.post(SEND, "{\n  \"id\": }").await;
    let detail = answer["error"]["data"]["detail"].as_str().unwrap();
    assert!(detail.contains("line 2"), "{detail}");
}

#[tokio::test]
async fn ids_are_echoed_in_the_type_they_came_in() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for id in ["\"7\"", "7", "-1.50", "0"] {
        let body = changed("\"req-1\"", id);
        let (answer, _) = tokio::join!(hub.request(SEND, body).send(), answered(&mut agent, "x"));
        let text = answer.unwrap().text().await.unwrap();
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(text.starts_with(&start), "{text}");
        let unknown = CURL.replace("\"req-1\"", id).replace("my-agent", "nobody");
        let text = hub.request(SEND, unknown).send().await.unwrap();
        let text = text.text().await.unwrap();
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
        assert!(text.starts_with(&start), "{text}");
    }
}

#[tokio::test]
async fn only_json_is_read() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "é", ""] {
        let request = hub.ask(Method::POST, SEND).body(CURL);
        let (status, answer) = told(request.header("Content-Type", kind)).await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
        let message =
            format!("invalid request: Content-Type must be application/json, got '{kind}'");
        assert_eq!(answer, error("", -32600, &message));
    }
    for kind in [
        Some("application/json; charset=utf-8"),
        Some("Application/JSON"),
        Some("application/a2a+json"),
        None,
    ] {
        let request = hub.ask(Method::POST, SEND).body(CURL);
        let request = match kind {
            Some(kind) => request.header("Content-Type", kind),
            None => request,
        };
        let ((status, _), _) = tokio::join!(told(request), answered(&mut agent, "x"));
        assert_eq!(status, StatusCode::OK, "{kind:?}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_the_same_shape() {
    let hub = A2aHub::start().await;
    for path in [SEND, STREAM] {
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let response = hub.ask(method.clone(), path).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(response.headers()["allow"], "POST");
            let answer: Value = response.json().await.unwrap();
            let message = format!("invalid request: {path} takes POST, got {method}");
            assert_eq!(answer, error("", -32600, &message));
        }
    }
    for path in ["/a2a/message", "/a2a/message/send/", "/a2a/nowhere"] {
        let (status, answer) = hub.post(path, CURL).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_eq!(answer["error"]["code"], -32601, "{path}");
    }
}
