//! Frames that cannot be served: each is refused by code, field and remedy, and reaches no agent.

use jackfield_core::limits::Limits;
use serde_json::{Value, json};

use crate::harness::AcpHub;

#[tokio::test]
async fn nothing_is_served_before_initialize() {
    let hub = AcpHub::start().await;
    let amy = hub.attach("amy");
    let mut editor = hub.connect_to("amy").await;
    let new = json!({"cwd": "/", "mcpServers": []});
    let error = editor.refused("session/new", new).await;
    assert_eq!(error["code"], -32600);
    assert!(
        error["message"].as_str().unwrap().contains("initialize"),
        "{error}"
    );
    editor.initialize(json!({})).await;
    let again = editor
        .refused("initialize", json!({"protocolVersion": 1}))
        .await;
    assert_eq!(again["code"], -32600);
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn wrong_fields_are_named() {
    let hub = AcpHub::start().await;
    let amy = hub.attach("amy");
    let mut editor = hub.connect_to("amy").await;
    for (params, field) in [
        (json!({}), "protocolVersion"),
        (json!({"protocolVersion": "1"}), "protocolVersion"),
        (json!({"protocolVersion": 0}), "protocolVersion"),
        (json!({"protocolVersion": -1}), "protocolVersion"),
        (
            json!({"protocolVersion": 1, "clientCapabilities": {"elicitation": []}}),
            "clientCapabilities.elicitation",
        ),
    ] {
        let error = editor.refused("initialize", params).await;
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32602), &json!(field))
        );
    }
    editor.initialize(json!({})).await;
    let session = editor.new_session().await;
    let prompt = |blocks: Value| json!({"sessionId": session, "prompt": blocks});
    for (method, params, field) in [
        ("session/new", json!({"mcpServers": []}), "cwd"),
        ("session/new", json!({"cwd": 1, "mcpServers": []}), "cwd"),
        (
            "session/new",
            json!({"cwd": "/", "mcpServers": [1]}),
            "mcpServers[0]",
        ),
        (
            "session/load",
            json!({"cwd": "/", "mcpServers": []}),
            "sessionId",
        ),
        (
            "session/load",
            json!({"sessionId": "s", "mcpServers": []}),
            "cwd",
        ),
        ("session/prompt", json!({"prompt": []}), "sessionId"),
        ("session/prompt", prompt(json!([])), "prompt"),
        ("session/prompt", prompt(json!("hi")), "prompt"),
        (
            "session/prompt",
            prompt(json!([{"text": "hi"}])),
            "prompt[0].type",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "smell"}])),
            "prompt[0].type",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "text"}])),
            "prompt[0].text",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "text", "text": 1}])),
            "prompt[0].text",
        ),
        (
            "session/prompt",
            prompt(
                json!([{"type": "text", "text": "a"}, {"type": "image", "mimeType": "image/png", "data": "?"}]),
            ),
            "prompt[1].data",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "audio", "data": "aGk="}])),
            "prompt[0].mimeType",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "resource_link", "uri": "x"}])),
            "prompt[0].name",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "resource"}])),
            "prompt[0].resource",
        ),
        (
            "session/prompt",
            prompt(json!([{"type": "resource", "resource": {"uri": "x"}}])),
            "prompt[0].resource.text",
        ),
        ("session/close", json!({}), "sessionId"),
    ] {
        let error = editor.refused(method, params.clone()).await;
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32602), &json!(field)),
            "{method} {params}: {error}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("field \"{field}\"")),
            "{message}"
        );
    }
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn frames_that_are_no_messages_are_refused_and_the_connection_goes_on() {
    let hub = AcpHub::start().await;
    let _amy = hub.attach("amy");
    let mut editor = hub.connect_to("amy").await;
    for (frame, id, code, part) in [
        ("{", json!(null), -32700, "valid JSON"),
        ("[]", json!(null), -32600, "batches"),
        ("3", json!(null), -32600, "object"),
        (
            r#"{"id":5,"method":"initialize"}"#,
            json!(5),
            -32600,
            "jsonrpc",
        ),
        (
            r#"{"jsonrpc":"1.0","id":"a","method":"initialize"}"#,
            json!("a"),
            -32600,
            "jsonrpc",
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":7}"#,
            json!(6),
            -32600,
            "method",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"initialize"}"#,
            json!(null),
            -32600,
            "\"id\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"initialize"}"#,
            json!(null),
            -32600,
            "\"id\"",
        ),
        (r#"{"jsonrpc":"2.0","id":8}"#, json!(8), -32600, "method"),
        (
            r#"{"jsonrpc":"2.0","id":8,"id":9,"method":"x"}"#,
            json!(9),
            -32600,
            "id",
        ),
    ] {
        editor.send_text(frame).await;
        let response = editor.frame().await;
        assert_eq!(response["error"]["code"], code, "{frame} {response}");
        let message = response["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{frame}: {message}");
        if !frame.contains("\"id\":8,\"id\"") {
            assert_eq!(response["id"], id, "{frame}");
        }
    }
    editor.send_binary(b"{}").await;
    assert_eq!(editor.frame().await["error"]["code"], -32600);
    editor.initialize(json!({})).await;
    assert!(hub.metric("jackfield_frames_refused_total{door=\"acp\"}") >= 11);
}

#[tokio::test]
async fn methods_that_are_not_offered_are_not_found() {
    let hub = AcpHub::start().await;
    let _amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    for method in [
        "session/list",
        "session/set_mode",
        "session/fork",
        "nonsense",
    ] {
        let error = editor.refused(method, json!({"sessionId": session})).await;
        assert_eq!(error["code"], -32601, "{method}");
    }
    let error = editor
        .refused("authenticate", json!({"methodId": "x"}))
        .await;
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32602), &json!("methodId"))
    );
    // A notification gets no answer, whatever it is.
    editor.tell("nonsense", json!({})).await;
    editor
        .tell("session/cancel", json!({"sessionId": "none"}))
        .await;
    editor.tell("session/cancel", json!({})).await;
    // Nor does a response that nobody waits for.
    editor
        .send(json!({"jsonrpc": "2.0", "id": 77, "result": {}}))
        .await;
    editor
        .send(json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}))
        .await;
    editor.new_session().await;
}

#[tokio::test]
async fn a_session_is_unknown_until_it_is_opened_and_after_it_is_closed() {
    let hub = AcpHub::start().await;
    let amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let block = json!([{"type": "text", "text": "hi"}]);
    let prompt = |session: &str| json!({"sessionId": session, "prompt": block});
    for unknown in ["none", "", "not an id\n"] {
        let error = editor.refused("session/prompt", prompt(unknown)).await;
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32002), &json!("sessionId"))
        );
    }
    // What another connection has opened is not open here.
    let (mut other, _) = hub.open("amy").await;
    let error = other.refused("session/prompt", prompt(&session)).await;
    assert_eq!(error["code"], -32002);
    let closed = editor
        .rpc("session/close", json!({"sessionId": session}))
        .await;
    assert_eq!(closed["result"], json!({}));
    let error = editor.refused("session/prompt", prompt(&session)).await;
    assert_eq!(error["code"], -32002);
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn a_session_serves_one_prompt_at_a_time_and_an_id_one_request() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let other = editor.new_session().await;
    let first = editor.prompt(&session, "one").await;
    let call = amy.next_call().await;
    let block = json!([{"type": "text", "text": "two"}]);
    let second = json!({"sessionId": session, "prompt": block});
    let error = editor.refused("session/prompt", second).await;
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32600), &json!("sessionId"))
    );
    let params = json!({"sessionId": other, "prompt": block});
    let repeated =
        json!({"jsonrpc": "2.0", "id": first, "method": "session/prompt", "params": params});
    editor.send(repeated).await;
    let refused = editor.frame().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["data"]["field"]),
        (&json!(first), &json!("id"))
    );
    assert!(amy.has_nothing_to_do());
    jackfield_kit::testing::answer_text(call, "done");
    assert_eq!(editor.stop_reason(first).await, "end_turn");
    let third = editor.prompt(&session, "three").await;
    jackfield_kit::testing::answer_text(amy.next_call().await, "done");
    assert_eq!(editor.stop_reason(third).await, "end_turn");
}

#[tokio::test]
async fn too_large_a_frame_closes_the_connection_and_says_why() {
    let limits = Limits {
        frame: "1 KiB".parse().unwrap(),
        ..Limits::default()
    };
    let hub = AcpHub::start_with_limits(limits).await;
    let _amy = hub.attach("amy");
    let (mut editor, _) = hub.open("amy").await;
    editor.send_text("x".repeat(2000)).await;
    let error = editor.frame().await;
    assert_eq!(error["error"]["code"], -32600, "{error}");
    assert_eq!(editor.closed().await.0, 1009);
}
