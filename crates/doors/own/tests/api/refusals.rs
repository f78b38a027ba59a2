//! Calls that are refused: clearly, by field, and before any agent hears of them.

use jackfield_core::{limits::Limits, units::Size};
use jackfield_model::Event;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::harness::{OwnHub, soon};

#[tokio::test]
async fn an_answer_too_large_for_one_object_is_refused_and_cancelled() {
    let limits = Limits {
        message: Size::kib(1),
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let mut amy = hub.attach("amy");
    let asking = hub.post(
        "/v1/agents/amy/calls",
        json!({"text": "go", "stream": false}),
    );
    let answering = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("x".repeat(2000)));
        assert_eq!(amy.next_cancel().await, serving.call().id);
    };
    let ((status, answer), ()) = soon(async { tokio::join!(asking, answering) }).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(
        answer["message"].as_str().unwrap().contains("stream"),
        "the remedy is told"
    );
}

#[tokio::test]
async fn a_body_is_read_only_of_those_who_may_do_what_it_asks_for() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    hub.attach("amy");
    let (stranger, admin) = (
        hub.token("ann", &[]).await,
        hub.token("a", &["admin"]).await,
    );
    // Whether the hub asks for the body.
    let is_read = async |token: &str, request: &str| {
        let mut stream = TcpStream::connect(hub.addr).await.unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        soon(stream.read_exact(&mut start)).await.unwrap();
        match &start {
            b"HTTP/1.1 100" => true,
            b"HTTP/1.1 401" | b"HTTP/1.1 404" => false,
            other => panic!("{request}: {}", String::from_utf8_lossy(other)),
        }
    };
    for request in [
        "POST /v1/tokens",
        "PATCH /v1/agents/amy",
        "POST /v1/agents/amy/calls",
        "POST /v1/calls/nonsense/answer",
        "POST /v1/calls/0190d1a2-0000-7000-8000-000000000000/messages",
    ] {
        assert!(!is_read("jf_unknown", request).await, "{request}");
        assert!(!is_read(&stranger, request).await, "{request}");
    }
    for request in [
        "POST /v1/tokens",
        "PATCH /v1/agents/amy",
        "POST /v1/agents/amy/calls",
    ] {
        assert!(is_read(&admin, request).await, "{request}");
    }
}

#[tokio::test]
async fn bad_calls_are_refused_by_field_and_reach_no_agent() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let deep = format!(
        "{{\"text\":\"x\",\"metadata\":{}1{}}}",
        "[".repeat(64),
        "]".repeat(64)
    );
    let deep = deep
        .replace("metadata\":[", "metadata\":{\"a\":")
        .replace("]}", "}}");
    let texts = [
        (r#"{}"#, "text"),
        (r#"{"parts": []}"#, "parts"),
        ("{\"text\":\n  7}", "line 2"),
        (r#"{"text": "x", "colour": 1}"#, "colour"),
        (r#"{"text": "x", "text": "y"}"#, "text"),
        (r#"{"text": "x""#, "line 1"),
        (r#"{"text": "x"} {}"#, "trailing"),
        ("", "body"),
        ("nonsense", "line 1"),
        (r#"{"text": "x", "session": ""}"#, "session"),
        (r#"{"text": "x", "request_id": "a\u0000b"}"#, "request_id"),
        (r#"{"text": "x", "timeout": "soon"}"#, "timeout"),
        (r#"{"text": "x", "timeout": -1}"#, "timeout"),
        (r#"{"text": "x", "idle": "0s"}"#, "idle"),
        (r#"{"text": "x", "wait_online": "8"}"#, "wait_online"),
        (r#"["x"]"#, "object"),
        (r#"{"parts": [{"file": ["f", null, "u", null]}]}"#, "object"),
        (r#"{"text": "x", "metadata": [1]}"#, "metadata"),
        (
            r#"{"parts": [{"text": "a"}, {"file": {"name": "f"}}]}"#,
            "parts[1].file",
        ),
        (
            r#"{"parts": [{"file": {"uri": "u", "bytes": "AA=="}}]}"#,
            "parts[0].file",
        ),
        (
            r#"{"parts": [{"file": {"bytes": "not base64"}}]}"#,
            "parts[0].file.bytes",
        ),
        (r#"{"parts": [{"file": {"uri": "u", "size": 5}}]}"#, "size"),
        (r#"{"parts": [{"video": 5}]}"#, "video"),
        (&deep, "64"),
    ];
    for (text, word) in texts {
        let request = hub
            .ask(Method::POST, "/v1/agents/amy/calls")
            .body(text.to_owned());
        let response = request.send().await.unwrap();
        let (status, answer) = hub
            .checked(&Method::POST, "/v1/agents/amy/calls", response)
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{text}: {answer}");
        assert_eq!(answer["error"], "invalid");
        assert!(
            answer["message"].as_str().unwrap().contains(word),
            "{text}: {answer}"
        );
    }
    for (name, value) in [("jackfield-call", "no-id"), ("jackfield-call", "é")] {
        let request = hub
            .ask(Method::POST, "/v1/agents/amy/calls")
            .header(name, value);
        let response = request.json(&json!({"text": "x"})).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    }
    // None of it came through: the next call is the agent's first.
    let _stream = hub.call("amy", json!({"text": "fine"})).await;
    assert_eq!(amy.next_call().await.call().message.joined_text(), "fine");
    let metrics = hub
        .ask(Method::GET, "/metrics")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains("jackfield_frames_refused_total{door=\"own\"}"),
        "{metrics}"
    );
}

#[tokio::test]
async fn calls_that_cannot_be_made_say_why_before_any_stream() {
    let limits = Limits {
        pending_per_agent: 1,
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let mut amy = hub.attach("amy");
    let post =
        async |agent: &str, body: Value| hub.post(&format!("/v1/agents/{agent}/calls"), body).await;
    assert_eq!(
        post("nobody", json!({"text": "x"})).await.0,
        StatusCode::NOT_FOUND
    );
    let _stream = hub
        .call("amy", json!({"text": "x", "request_id": "r"}))
        .await;
    let _open = amy.next_call().await;
    let (status, answer) = post("amy", json!({"text": "x"})).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::TOO_MANY_REQUESTS, &json!("busy"))
    );
    drop(hub.attach("away"));
    let (status, answer) = post("away", json!({"text": "x"})).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_GATEWAY, &json!("offline"))
    );
}

#[tokio::test]
async fn the_same_open_request_id_twice_is_a_conflict() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let _stream = hub
        .call("amy", json!({"text": "x", "request_id": "r"}))
        .await;
    let _open = amy.next_call().await;
    let (status, answer) = hub
        .post(
            "/v1/agents/amy/calls",
            json!({"text": "x", "request_id": "r"}),
        )
        .await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::CONFLICT, &json!("conflict"))
    );
}

#[tokio::test]
async fn a_body_is_counted_while_it_is_read() {
    let limits = Limits {
        message: Size::kib(1),
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let _amy = hub.attach("amy");
    // Without a length: only counting tells.
    let chunk = format!("{:x}\r\n{}\r\n", 600, "x".repeat(600));
    let mut socket = TcpStream::connect(hub.addr).await.unwrap();
    let head = format!(
        "POST /v1/agents/amy/calls HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        hub.addr
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(chunk.as_bytes()).await.unwrap();
    socket.write_all(chunk.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1000];
    let count = soon(socket.read(&mut answer)).await.unwrap();
    let answer = std::str::from_utf8(&answer[..count]).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"error\":\"too_large\""), "{answer}");
    let fits = json!({"text": "x".repeat(900), "detach": true});
    assert_eq!(
        hub.post("/v1/agents/amy/calls", fits).await.0,
        StatusCode::ACCEPTED
    );
}
