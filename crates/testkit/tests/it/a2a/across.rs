//! A2A callers and agents of other doors: chunk kinds, files, failures, cancellation.

use jackfield_testkit::TestHub;
use serde_json::json;

use crate::a2a::hello;

#[tokio::test]
async fn a_bridge_agent_is_streamed_with_its_kinds_and_its_attachments() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge("amy").await;
    let mut stream = hub.web().stream("/a2a/message/stream", hello("amy")).await;
    let request = amy.expect_message("Hello!").await;
    let chunk = |delta: &str, more| {
        let mut chunk = json!({"type": "chunk", "request_id": request, "delta": delta});
        let more: serde_json::Value = more;
        chunk
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        chunk
    };
    amy.send(chunk("hm", json!({"kind": "thinking"}))).await;
    let tool = json!({"kind": "tool_start", "tool_name": "Bash", "tool_call_id": "t1"});
    amy.send(chunk("", tool)).await;
    amy.send(chunk("done", json!({}))).await;
    let attachments =
        json!([{"name": "a.txt", "url": "https://example.com/a.txt", "type": "text/plain"}]);
    amy.send(json!({"type": "done", "request_id": request, "attachments": attachments}))
        .await;
    let mut events = Vec::new();
    while let Some(event) = stream.maybe_next().await {
        events.push((event.event.unwrap(), event.data));
    }
    let updates: Vec<_> = events
        .iter()
        .filter(|(name, _)| name == "task_update")
        .map(|(_, data)| (data["kind"].clone(), data["delta"].clone()))
        .collect();
    assert_eq!(
        updates,
        [
            (json!("thinking"), json!("hm")),
            (json!("tool_start"), json!("")),
            (json!("text"), json!("done")),
        ]
    );
    let (name, last) = events.last().unwrap();
    assert_eq!(
        (name.as_str(), &last["status"]),
        ("task_completed", &json!("completed"))
    );
    assert_eq!(
        last["message"]["parts"],
        json!([
            {"kind": "text", "text": "done"},
            {"kind": "file", "file": {"uri": "https://example.com/a.txt", "mimeType": "text/plain", "name": "a.txt"}},
        ])
    );
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_at_agents_of_both_doors() {
    let hub = TestHub::start().await;
    let (mut amy, mut bob) = (hub.bridge("amy").await, hub.agora("bob").await);
    let stream = hub.web().stream("/a2a/message/stream", hello("amy")).await;
    let request = amy.expect_message("Hello!").await;
    drop(stream);
    assert_eq!(
        amy.frame().await,
        json!({"type": "cancel", "session_id": "session-123", "request_id": request})
    );
    let stream = hub.web().stream("/a2a/message/stream", hello("bob")).await;
    let from = bob.frame().await["from"].clone();
    drop(stream);
    let cancel = bob.frame().await;
    assert_eq!(
        (&cancel["type"], &cancel["from"]),
        (&json!("cancel"), &from)
    );
}

#[tokio::test]
async fn failures_of_agents_and_agents_that_are_not_there_are_told_in_the_seeds_shape() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge("amy").await;
    let web = hub.web();
    let fails = async {
        let request = amy.expect_message("Hello!").await;
        let error = json!({"type": "error", "request_id": request, "code": "adapter_crash", "message": "boom"});
        amy.send(error).await;
    };
    let ((status, answer), ()) = tokio::join!(web.post("/a2a/message/send", hello("amy")), fails);
    assert_eq!((status, &answer["id"]), (502, &json!("req-1")));
    assert_eq!(answer["error"]["code"], -32603);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("boom")
    );
    let (status, answer) = web.post("/a2a/message/send", hello("nobody")).await;
    let expected = json!({"code": -32000, "message": "entity 'nobody' not found"});
    let error = &answer["error"];
    assert_eq!(status, 404);
    assert_eq!(
        (&error["code"], &error["message"]),
        (&expected["code"], &expected["message"])
    );
}
