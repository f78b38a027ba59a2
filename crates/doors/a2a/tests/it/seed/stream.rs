//! `message/stream`: what the agent says as it comes, then one event that says how it ended.

use jackfield_core::{limits::Limits, units::Span};
use jackfield_model::{
    Artifact, Chunk, ChunkKind, Done, End, Event, Failure, File, FileSource, Part, Reason,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::seed::harness::{A2aHub, CURL, SEND, STREAM, changed, done, failed, soon};

#[tokio::test]
async fn each_piece_arrives_before_the_next_is_said() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    let task = format!("task-{}", serving.call().id);
    let header = stream.0.response.headers()["jackfield-call"]
        .to_str()
        .unwrap();
    assert_eq!(header, serving.call().id.to_string());
    let tool = Chunk {
        kind: ChunkKind::ToolStart,
        text: "ls".into(),
        tool_name: Some("Bash".into()),
        tool_call_id: Some("t1".into()),
        extra: None,
        waiting_for: None,
    };
    let kind = |kind, text: &str| Chunk {
        kind,
        ..Chunk::text(text)
    };
    for (chunk, mut wanted) in [
        (
            kind(ChunkKind::Thinking, "hm"),
            json!({"delta": "hm", "kind": "thinking"}),
        ),
        (
            kind(ChunkKind::Text, "Hé\n"),
            json!({"delta": "Hé\n", "kind": "text"}),
        ),
        (
            tool,
            json!({"delta": "ls", "kind": "tool_start", "tool_name": "Bash", "tool_call_id": "t1"}),
        ),
        (
            kind(ChunkKind::Status, "busy"),
            json!({"delta": "busy", "kind": "status"}),
        ),
        (
            kind(ChunkKind::Text, "llo"),
            json!({"delta": "llo", "kind": "text"}),
        ),
    ] {
        serving.push(Event::Chunk(chunk));
        wanted["taskId"] = json!(task);
        wanted["contextId"] = json!("session-123");
        wanted["status"] = json!("working");
        assert_eq!(stream.expect("task_update").await, wanted);
    }
    serving.finish(done("repeated"));
    let mut data = stream.expect("task_completed").await;
    let id = data["message"]["messageId"].take();
    assert!(id.as_str().unwrap().starts_with("msg-"));
    assert!(data["message"]["timestamp"].take().is_string());
    assert_eq!(
        data,
        json!({
            "taskId": task,
            "contextId": "session-123",
            "status": "completed",
            "message": {
                "messageId": null,
                "role": "agent",
                "agentId": "my-agent",
                "contextId": "session-123",
                "parts": [{"kind": "text", "text": "Hé\nllo"}],
                "timestamp": null,
            },
        })
    );
    stream.ends().await;
}

#[tokio::test]
async fn files_come_with_the_end() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    let file = |name: &str| File {
        name: Some(name.into()),
        mime: Some("text/plain".into()),
        source: FileSource::Bytes("aGk=".into()),
    };
    serving.push(Event::Artifact(Artifact {
        id: "a".into(),
        name: None,
        parts: vec![Part::File(file("a.txt"))],
        append: false,
        last: true,
        extra: None,
    }));
    serving.finish(End::Done(Box::new(Done {
        attachments: vec![file("b.txt")],
        ..Done::default()
    })));
    let data = stream.expect("task_completed").await;
    let part = |name: &str| json!({"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": name}});
    assert_eq!(
        data["message"]["parts"],
        json!([part("a.txt"), part("b.txt")])
    );
    stream.ends().await;
}

#[tokio::test]
async fn a_call_that_cannot_begin_is_refused_without_a_stream() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    agent.leave();
    for path in [SEND, STREAM] {
        let (status, body) = hub.post(path, CURL).await;
        assert_eq!(status, StatusCode::BAD_GATEWAY);
        let message = "the agent is not connected";
        assert_eq!(body, failed("req-1", -32000, message, "offline"));
    }
}

#[tokio::test]
async fn a_failure_is_the_last_event_after_all_that_was_said() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for (failure, code) in [
        (
            Failure::new(Reason::Agent("quota".into()), "no more"),
            "execution_error",
        ),
        (
            Failure::new(Reason::Crashed, "boom\nbang"),
            "execution_error",
        ),
    ] {
        let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
        let task = format!("task-{}", serving.call().id);
        serving.push(Event::text("half"));
        serving.finish(End::Failed(failure.clone()));
        assert_eq!(stream.expect("task_update").await["delta"], "half");
        let wanted = json!({
            "taskId": task,
            "contextId": "session-123",
            "status": "failed",
            "error": {
                "code": code,
                "message": failure.text,
                "details": {"reason": failure.reason.name()},
            },
        });
        assert_eq!(stream.expect("error").await, wanted);
        stream.ends().await;
    }
}

#[tokio::test]
async fn an_agent_that_goes_away_is_told_in_the_stream() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    agent.leave();
    drop(serving);
    let data = stream.expect("error").await;
    assert_eq!(data["error"]["details"]["reason"], "offline");
    stream.ends().await;
}

#[tokio::test]
async fn silence_is_filled_with_comments() {
    let limits = Limits {
        keepalive: Span::millis(10),
        ..Limits::default()
    };
    let hub = A2aHub::start_with(true, limits).await;
    let mut agent = hub.attach("my-agent");
    let (stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    let mut response = stream.0.response;
    for _ in 0..3 {
        let bytes = soon(response.chunk()).await.unwrap().unwrap();
        assert_eq!(bytes, ": keepalive\n\n");
    }
    serving.finish(done("x"));
}

#[tokio::test]
async fn the_bytes_of_a_stream_are_those_of_the_original() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let opening = hub.request(STREAM, CURL).send();
    let answering = async { agent.next_call().await.finish(done("one\ntwo")) };
    let (response, _) = tokio::join!(opening, answering);
    let response = response.unwrap();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(response.headers()[name], value);
    }
    let text = soon(response.text()).await.unwrap();
    let start = "event: task_completed\ndata: {\"taskId\":\"task-";
    assert!(
        text.starts_with(start) && text.ends_with("}}\n\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[tokio::test]
async fn a_stream_without_a_context_tells_the_new_one_in_every_event() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let body = changed("session-123", "");
    let (mut stream, serving) = tokio::join!(hub.stream(body), agent.next_call());
    serving.push(Event::text("x"));
    let update = stream.expect("task_update").await;
    assert_eq!(
        update["contextId"],
        Value::from(serving.call().session.as_str())
    );
    let session = serving.call().session.clone();
    serving.finish(End::done());
    let last = stream.expect("task_completed").await;
    assert_eq!(last["contextId"], session.as_str());
    assert_eq!(last["message"]["contextId"], session.as_str());
}
