//! What an agent is told whose frames are none, and what its callers hear of it.

use jackfield_core::principal::Scopes;
use jackfield_model::{End, Owner, Reason};
use serde_json::{Value, json};

use crate::ws::harness::*;

const BINARY: &str = "binary frame; send JSON as a text frame";

async fn send_binary(agent: &mut Agent, frame: &Value) {
    let bytes = frame.to_string().into_bytes();
    agent.send_binary(&bytes).await;
}

#[tokio::test]
async fn a_binary_frame_is_answered_before_and_after_register() {
    let door = BridgeHub::open().await;
    let told = json!({"type": "error", "code": "invalid_message", "message": BINARY});
    let mut agent = door.connect("a").await;
    send_binary(&mut agent, &register("a", &json!(2))).await;
    assert_eq!(agent.frame().await, told);
    // It may register still.
    agent.send(register("a", &json!(2))).await;
    assert_eq!(agent.frame().await["status"], "ok");
    send_binary(&mut agent, &json!({"type": "heartbeat"})).await;
    assert_eq!(agent.frame().await, told);
    assert!(agent.sync().await.is_empty(), "it is connected still");
}

#[tokio::test]
async fn a_frame_of_an_unknown_type_is_answered_with_the_known_ones() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    agent.send(json!({"type": "chunks", "delta": "x"})).await;
    let told = agent.frame().await;
    assert_eq!(
        (&told["code"], &told["frame_type"], &told["field"]),
        (&json!("invalid_message"), &json!("chunks"), &json!("type"))
    );
    let text = told["message"].as_str().unwrap();
    assert!(text.contains("register, chunk, done"), "{text}");
    agent.send(register("a", &json!(2))).await;
    assert_eq!(agent.frame().await["frame_type"], "register");
    assert!(agent.sync().await.is_empty(), "it is connected still");
}

#[tokio::test]
async fn a_call_whose_answer_cannot_be_read_fails_and_names_frame_and_field() {
    let door = BridgeHub::open().await;
    let mut agent = door.connect("a").await;
    let mut frame = register("a", &json!(2));
    frame["extensions"] = json!(["artifacts", "input"]);
    agent.send(frame).await;
    agent.frame().await;
    for (frame, told, is_end) in [
        (
            json!({"type": "done", "result": {"a": 1}}),
            r#"done: field "result" must be a string"#,
            true,
        ),
        (
            json!({"type": "error", "message": "boom"}),
            r#"error: field "code" is required"#,
            true,
        ),
        (
            json!({"type": "chunk", "text": "oops"}),
            r#"chunk: field "delta" is required"#,
            false,
        ),
        (
            json!({"type": "ask", "ask_id": "q", "kind": "aproval", "text": "may I?"}),
            r#"ask: field "kind" must be "input" or "approval""#,
            false,
        ),
        (
            json!({"type": "artifact", "artifact_id": "f", "parts": [{"text": "x"}, {"type": "text", "value": "y"}]}),
            r#"artifact: field "parts[1]" must be {"text": TEXT}"#,
            false,
        ),
    ] {
        let mut replies = door.call("a", "r-1", "go");
        assert_eq!(agent.frame().await["type"], "message");
        let mut frame = frame;
        frame["request_id"] = json!("r-1");
        agent.send(frame.clone()).await;
        let End::Failed(failure) = end_of(&mut replies).await else {
            panic!("{frame} did not fail the call")
        };
        assert!(failure.text.contains(told), "{frame}: {}", failure.text);
        if !is_end {
            assert_eq!(agent.frame().await["type"], "cancel", "{frame}");
        }
        let error = agent.frame().await;
        assert_eq!(error["frame_type"], frame["type"]);
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
    }
}

const NO_REQUEST: [&str; 3] = [
    "invalid_message",
    "request_id",
    r#"field "request_id" is required"#,
];

/// The next frame is the refusal of a frame of this type that names no request.
async fn refused_without_request(agent: &mut Agent, frame_type: &str) {
    let told = agent.frame().await;
    let [code, field, text] = NO_REQUEST;
    assert_eq!(
        (&told["code"], &told["field"]),
        (&json!(code), &json!(field))
    );
    assert_eq!(told["frame_type"], frame_type);
    assert!(told["message"].as_str().unwrap().contains(text), "{told}");
}

#[tokio::test]
async fn a_frame_that_names_no_request_is_about_the_only_one_that_is_open() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    for nameless in [Value::Null, json!("")] {
        let replies = door.call("a", "r-1", "go");
        assert_eq!(agent.frame().await["type"], "message");
        agent
            .send(json!({"type": "chunk", "request_id": nameless, "delta": "one"}))
            .await;
        agent
            .send(
                json!({"type": "chunk", "request_id": nameless, "kind": "status", "delta": "two"}),
            )
            .await;
        agent
            .send(json!({"type": "done", "request_id": nameless}))
            .await;
        let (events, end) = all_of(replies).await;
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(matches!(end, End::Done(_)), "{end:?}");
    }
    let replies = door.call("a", "r-2", "go");
    assert_eq!(agent.frame().await["type"], "message");
    agent
        .send(json!({"type": "error", "code": "out_of_paint", "message": "no blue"}))
        .await;
    let reason = failure_of(replies).await;
    assert_eq!(reason, Reason::Agent("out_of_paint".to_owned()));
    assert!(agent.sync().await.is_empty(), "it did nothing wrong");
    for frame in [
        json!({"type": "done", "result": 1}),
        json!({"type": "done", "request_id": "", "result": 1}),
        json!({"type": "done", "request_id": 7}),
    ] {
        let replies = door.call("a", "r-3", "go");
        assert_eq!(agent.frame().await["type"], "message");
        agent.send(frame).await;
        let reason = failure_of(replies).await;
        assert_eq!(reason, Reason::Agent("internal_error".to_owned()));
        assert_eq!(agent.frame().await["frame_type"], "done");
    }
}

#[tokio::test]
async fn a_frame_that_names_no_request_while_several_are_open_is_refused_and_they_go_on() {
    let door = BridgeHub::open().await;
    let mut agent = door.connect("a").await;
    let mut frame = register("a", &json!(2));
    // Without it, one request of a session comes after another.
    frame["extensions"] = json!(["meta"]);
    agent.send(frame).await;
    agent.frame().await;
    agent.send(json!({"type": "done"})).await;
    refused_without_request(&mut agent, "done").await;
    let calls = ["r-1", "r-2"].map(|request| (request, door.call("a", request, "go")));
    for _ in &calls {
        assert_eq!(agent.frame().await["type"], "message");
    }
    for frame in [
        json!({"type": "chunk", "delta": "whose?"}),
        json!({"type": "error", "code": "timeout", "message": "whose?"}),
        json!({"type": "done"}),
    ] {
        agent.send(frame.clone()).await;
        refused_without_request(&mut agent, frame["type"].as_str().unwrap()).await;
    }
    for (request, replies) in calls {
        agent
            .send(json!({"type": "done", "request_id": request}))
            .await;
        let (events, end) = all_of(replies).await;
        assert!(events.is_empty(), "{events:?}");
        assert!(matches!(end, End::Done(_)), "{end:?}");
    }
}

#[tokio::test]
async fn what_was_said_to_a_caller_that_left_reaches_no_other() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    for frame in [
        json!({"type": "chunk", "delta": "a secret"}),
        json!({"type": "done", "result": "a secret"}),
    ] {
        let left = door.call("a", "r-1", "go");
        assert_eq!(agent.frame().await["type"], "message");
        drop(left);
        assert_eq!(agent.frame().await["type"], "cancel");
        let replies = door.call("a", "r-2", "go");
        assert_eq!(agent.frame().await["type"], "message");
        agent.send(frame.clone()).await;
        let (events, end) = all_of(replies).await;
        assert!(events.is_empty(), "{events:?}");
        let End::Failed(failure) = end else {
            panic!("{frame} did not fail the call")
        };
        assert!(failure.text.contains(NO_REQUEST[2]), "{}", failure.text);
        if frame["type"] == "chunk" {
            assert_eq!(agent.frame().await["type"], "cancel");
        }
        refused_without_request(&mut agent, frame["type"].as_str().unwrap()).await;
    }
}

#[tokio::test]
async fn an_end_that_cannot_be_read_ends_a_request_with_the_longest_id() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let request = "r".repeat(256);
    let replies = door.call("a", &request, "go");
    assert_eq!(agent.frame().await["request_id"], request);
    agent
        .send(json!({"type": "done", "request_id": request, "result": 1}))
        .await;
    let reason = failure_of(replies).await;
    assert_eq!(reason, Reason::Agent("internal_error".to_owned()));
}

#[tokio::test]
async fn whoever_names_no_version_learns_what_to_write() {
    let door = BridgeHub::open().await;
    let mut agent = door.connect("a").await;
    agent
        .send(json!({"type": "register", "agent_id": "a"}))
        .await;
    let text = "register: field \"bridge_version\" is missing; write 1 or 2";
    assert_eq!(agent.frame().await["error"], text);
}

#[tokio::test]
async fn a_token_that_does_not_cover_the_id_is_told_what_it_covers() {
    let door = BridgeHub::open().await;
    for (scopes, told) in [
        (
            &["agent:ann-*", "call:*"][..],
            "Authentication failed: this token may register agent:ann-* only",
        ),
        (
            &["call:*"][..],
            "Authentication failed: this token may register no agent",
        ),
    ] {
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let owner = Owner::parse("ann").unwrap();
        let made = door.hub.tokens().create("t".into(), owner, &scopes, None);
        let mut frame = register("bob", &json!(2));
        frame["token"] = json!(made.await.unwrap().secret);
        let mut agent = door.connect("bob").await;
        agent.send(frame).await;
        assert_eq!(agent.frame().await["error"], told);
        assert_eq!(agent.closed().await, (1008, "Auth failed".to_owned()));
    }
}
