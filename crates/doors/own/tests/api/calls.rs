//! Live calls: what streams say, how they end, and that losing the caller cancels.

use jackfield_model::{
    Artifact, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, File, FileSource, Json, Part,
    Reason,
};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::harness::{OwnHub, soon};

fn artifact(text: &str, append: bool) -> Event {
    Event::Artifact(Artifact {
        id: "a".into(),
        name: None,
        parts: vec![Part::Text(text.into())],
        append,
        last: append,
        extra: None,
    })
}

#[tokio::test]
async fn a_streamed_call_says_its_names_then_what_the_agent_says_then_how_it_ended() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({
        "text": "hello", "parts": [{"data": {"x": 1.50}}, {"file": {"name": "f", "uri": "https://e/f"}}],
        "session": "s 1", "request_id": "r-1", "message_id": "m-1", "metadata": {"k": [1]},
    });
    let mut stream = hub.call("amy", body).await;
    let opened = stream.expect("call").await.data;
    let serving = amy.next_call().await;
    let call = serving.call().clone();
    assert_eq!(opened["id"], call.id.to_string());
    assert_eq!(opened["request_id"], "r-1");
    assert_eq!(opened["session"], "s 1");
    assert!(opened.get("task").is_none());
    assert_eq!(
        stream.response().headers()["jackfield-call"],
        call.id.to_string()
    );
    assert_eq!(call.message.joined_text(), "hello");
    assert_eq!(call.message.id.as_deref(), Some("m-1"));
    assert_eq!(
        call.message.parts[1],
        Part::Data(Json::parse("{\"x\":1.5}").unwrap())
    );
    assert_eq!(call.message.metadata.as_ref().unwrap().get(), "{\"k\":[1]}");
    assert_eq!(call.message.files().count(), 1);

    serving.push(Event::Chunk(Chunk {
        kind: ChunkKind::Thinking,
        ..Chunk::text("hm")
    }));
    let chunk = stream.expect("chunk").await;
    assert_eq!(chunk.id, None, "a live call cannot be read again");
    assert_eq!(
        chunk.data,
        json!({"type": "chunk", "kind": "thinking", "text": "hm"})
    );
    serving.push(Event::text("hi"));
    assert_eq!(stream.expect("chunk").await.data["kind"], "text");
    serving.push(artifact("made", false));
    assert_eq!(
        stream.expect("artifact").await.data["parts"],
        json!([{"text": "made"}])
    );
    serving.finish(End::Done(Box::new(Done {
        result: Some("hi".into()),
        stop_reason: Some("end_turn".into()),
        usage: Some(Json::parse("{\"tokens\":3}").unwrap()),
        ..Done::default()
    })));
    let done = stream.expect("done").await.data;
    let wanted = json!({"type": "done", "state": "completed", "result": "hi", "stop_reason": "end_turn", "usage": {"tokens": 3}});
    assert_eq!(done, wanted);
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn all_that_is_ready_comes_in_one_write() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    stream.expect("call").await;
    let serving = amy.next_call().await;
    // Pushed without giving way, on a runtime of one thread: the reader finds them together.
    for n in 0..5 {
        serving.push(Event::Chunk(Chunk::status(n.to_string())));
    }
    serving.finish(End::done());
    let bytes = soon(stream.response().chunk()).await.unwrap().unwrap();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert_eq!(text.matches("event: chunk").count(), 5);
    assert!(text.ends_with("event: done\ndata: {\"type\":\"done\",\"state\":\"completed\"}\n\n"));
}

#[tokio::test]
async fn failures_and_cancels_end_a_stream_by_name() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    stream.expect("call").await;
    let failure = Failure::new(Reason::Agent("quota".into()), "no more today");
    amy.next_call().await.finish(End::Failed(failure));
    let failed = stream.expect("failed").await.data;
    assert_eq!(
        failed,
        json!({"type": "failed", "error": "quota", "message": "no more today"})
    );
    assert_eq!(stream.next().await, None);

    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    let id = stream.expect("call").await.data["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let _serving = amy.next_call().await;
    let (status, open) = hub.get(&format!("/v1/calls/{id}")).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&open["agent"], &open["state"]),
        (&json!("amy"), &json!("working"))
    );
    let (status, _) = hub
        .json(Method::POST, &format!("/v1/calls/{id}/cancel"), None)
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    stream.expect("cancelled").await;
    assert_eq!(stream.next().await, None);
    assert_eq!(amy.next_cancel().await.to_string(), id);
    assert_eq!(
        hub.get(&format!("/v1/calls/{id}")).await.0,
        StatusCode::NOT_FOUND
    );

    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    stream.expect("call").await;
    amy.next_call().await;
    assert_eq!(
        stream.expect("failed").await.data["error"],
        "offline",
        "the agent let go"
    );
}

#[tokio::test]
async fn a_caller_that_hangs_up_cancels_at_the_agent() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    stream.expect("call").await;
    let serving = amy.next_call().await;
    drop(stream);
    assert_eq!(amy.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn a_caller_that_hangs_up_while_it_waits_for_the_whole_answer_cancels_too() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut socket = TcpStream::connect(hub.addr).await.unwrap();
    let body = r#"{"text":"go","stream":false}"#;
    let request = format!(
        "POST /v1/agents/amy/calls HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n{body}",
        hub.addr,
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let serving = amy.next_call().await;
    drop(socket);
    assert_eq!(amy.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn the_whole_answer_comes_as_one_object() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"text": "go", "stream": false});
    let asking = hub.post("/v1/agents/amy/calls", body.clone());
    let answering = async {
        let serving = amy.next_call().await;
        serving.push(Event::Chunk(Chunk::status("busy")));
        serving.push(Event::text("one "));
        serving.push(artifact("x", false));
        serving.push(Event::text("two"));
        serving.push(artifact("y", true));
        let file = File {
            name: Some("f".into()),
            mime: None,
            source: FileSource::Bytes("AA==".into()),
        };
        serving.finish(End::Done(Box::new(Done {
            attachments: vec![file],
            ..Done::default()
        })));
    };
    let ((status, answer), ()) = soon(async { tokio::join!(asking, answering) }).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["text"], "one two");
    assert_eq!(answer["state"], "completed");
    assert_eq!(answer["artifacts"][0]["parts"], json!([{"text": "xy"}]));
    assert_eq!(
        answer["attachments"],
        json!([{"name": "f", "bytes": "AA=="}])
    );

    // Agents that say all at the end.
    let asking = hub.post("/v1/agents/amy/calls", body.clone());
    let answering = async {
        let done = Done {
            state: DoneState::InputRequired,
            result: Some("which?".into()),
            ..Done::default()
        };
        amy.next_call().await.finish(End::Done(Box::new(done)));
    };
    let ((_, answer), ()) = soon(async { tokio::join!(asking, answering) }).await;
    assert_eq!(
        (&answer["text"], &answer["state"]),
        (&json!("which?"), &json!("input_required"))
    );

    for (end, status, word) in [
        (
            End::Failed(Failure::new(Reason::Timeout, "late")),
            StatusCode::GATEWAY_TIMEOUT,
            "timeout",
        ),
        (
            End::Failed(Failure::new(Reason::Crashed, "died")),
            StatusCode::BAD_GATEWAY,
            "crashed",
        ),
        (
            End::Failed(Failure::new(Reason::Agent("quota".into()), "no")),
            StatusCode::BAD_GATEWAY,
            "quota",
        ),
    ] {
        let asking = hub.post("/v1/agents/amy/calls", body.clone());
        let answering = async { amy.next_call().await.finish(end) };
        let (got, _) = soon(async { tokio::join!(asking, answering) }).await;
        assert_eq!((got.0, &got.1["error"]), (status, &json!(word)));
    }
    let asking = hub.post("/v1/agents/amy/calls", body);
    let answering = async { amy.next_call().await.finish(End::Cancelled) };
    let ((status, answer), _) = soon(async { tokio::join!(asking, answering) }).await;
    assert_eq!(
        (status, &answer["state"]),
        (StatusCode::OK, &json!("cancelled"))
    );
}

#[tokio::test]
async fn the_parent_and_the_trace_are_passed_on_and_a_cancelled_parent_cancels() {
    let hub = OwnHub::start().await;
    let (mut amy, mut bob) = (hub.attach("amy"), hub.attach("bob"));
    let parent_stream = hub.call("amy", json!({"text": "x"})).await;
    let parent = amy.next_call().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = hub
        .ask(Method::POST, "/v1/agents/bob/calls")
        .header("Jackfield-Call", parent.call().id.to_string())
        .header("traceparent", trace);
    let mut child_stream = hub.stream(request.json(&json!({"text": "y"}))).await;
    child_stream.expect("call").await;
    let child = bob.next_call().await;
    assert_eq!(child.call().parent().unwrap().id, parent.call().id);
    assert_eq!(child.call().traceparent.as_deref(), Some(trace));
    let path = format!("/v1/calls/{}", child.call().id);
    let (_, shown) = hub.get(&path).await;
    assert_eq!(shown["parent"], parent.call().id.to_string());
    drop(parent_stream);
    child_stream.expect("cancelled").await;
    assert_eq!(bob.next_cancel().await, child.call().id);
}
