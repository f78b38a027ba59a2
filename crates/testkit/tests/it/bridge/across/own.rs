//! Callers of the hub's own API reach bridge agents, with all data of the extensions.

use jackfield_testkit::{Events, TestHub};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bridge::{AMY, chunk, done, error};

/// The agent's call path.
fn calls() -> String {
    format!("/v1/agents/{AMY}/calls")
}

/// Returns the next event, which must have this name.
async fn expect(events: &mut Events, name: &str) -> Value {
    let event = events.maybe_next().await.expect("the stream goes on");
    assert_eq!(event.event.as_deref(), Some(name), "{event:?}");
    let mut data = event.data;
    assert_eq!(
        data.as_object_mut().unwrap().remove("type"),
        Some(name.into())
    );
    data
}

#[tokio::test]
async fn a_plain_agent_is_called_streamed_and_at_once() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let mut events = hub
        .web()
        .stream(&calls(), json!({"text": "hi", "session": "s-1"}))
        .await;
    let opened = expect(&mut events, "call").await;
    let request = amy.expect_message("hi").await;
    assert_eq!(opened["request_id"], request);
    amy.send(json!({"type": "chunk", "request_id": request, "delta": "hm", "kind": "thinking", "tool_name": "", "tool_call_id": ""})).await;
    assert_eq!(
        expect(&mut events, "chunk").await,
        json!({"kind": "thinking", "text": "hm"})
    );
    amy.send(chunk(&request, "yes")).await;
    assert_eq!(
        expect(&mut events, "chunk").await,
        json!({"kind": "text", "text": "yes"})
    );
    let file = json!({"name": "a.png", "url": "https://files.example/a", "type": "image/png"});
    amy.send(
        json!({"type": "done", "request_id": request, "result": "yes", "attachments": [file]}),
    )
    .await;
    let end = expect(&mut events, "done").await;
    assert_eq!(end["result"], "yes");
    assert_eq!(end["attachments"].as_array().unwrap().len(), 1, "{end}");

    let whole = async {
        let web = hub.web();
        web.post(&calls(), json!({"text": "hi", "stream": false}))
            .await
    };
    let failing = async {
        let request = amy.expect_message("hi").await;
        amy.send(error(&request, "adapter_crash", "it died")).await;
    };
    let ((status, answer), ()) = tokio::join!(whole, failing);
    assert_eq!(
        (status, answer),
        (502, json!({"error": "crashed", "message": "it died"}))
    );
}

#[tokio::test]
async fn an_agent_asks_and_is_answered_once() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge_with(AMY, &["input"]).await;
    let web = hub.web();
    let mut events = web.stream(&calls(), json!({"text": "the weather?"})).await;
    let call = expect(&mut events, "call").await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let request = amy.expect_message("the weather?").await;
    amy.send(json!({
        "type": "ask", "request_id": request, "ask_id": "q-1", "kind": "input", "text": "which city?",
        "schema": {"type": "string"},
    }))
    .await;
    assert_eq!(
        expect(&mut events, "ask").await,
        json!({"id": "q-1", "kind": "input", "text": "which city?", "schema": {"type": "string"}})
    );
    let path = format!("/v1/calls/{call}/answer");
    let rome = json!({"ask_id": "q-1", "content": "Rome", "parts": [{"text": "Italy"}]});
    assert_eq!(web.post(&path, rome.clone()).await.0, 204);
    assert_eq!(web.post(&path, rome).await.0, 409, "the first answer wins");
    amy.expect(json!({"type": "answer", "request_id": request, "ask_id": "q-1", "content": "Rome", "parts": [{"text": "Italy"}]}))
        .await;
    // The agent may ask again.
    amy.send(json!({
        "type": "ask", "request_id": request, "ask_id": "q-2", "kind": "approval", "text": "may I look?",
        "tool_name": "browser", "tool_call_id": "t-1", "arguments": {"url": "https://weather.example/"},
    }))
    .await;
    // An approval belongs to the owner. Here the owner is also the caller.
    let status = expect(&mut events, "chunk").await;
    assert_eq!(status["kind"], "status");
    assert!(status["text"].as_str().unwrap().contains("browser"));
    let (_, open) = web.get(&format!("/v1/calls/{call}")).await;
    let asked = &open["asks"][0];
    assert_eq!(
        (&asked["kind"], &asked["arguments"]["url"]),
        (&json!("approval"), &json!("https://weather.example/"))
    );
    let no = json!({"ask_id": "q-2", "approved": false, "reason": "not today"});
    assert_eq!(web.post(&path, no).await.0, 204);
    amy.expect(json!({"type": "answer", "request_id": request, "ask_id": "q-2", "approved": false, "reason": "not today"}))
        .await;
    amy.send(chunk(&request, "sunny, I guess")).await;
    amy.send(done(&request)).await;
    assert_eq!(expect(&mut events, "chunk").await["text"], "sunny, I guess");
    expect(&mut events, "done").await;
}

#[tokio::test]
async fn an_approval_is_the_owners_to_give() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge_with(AMY, &["input"]).await;
    let stranger = hub.web_of(&hub.token("ann", &["call:*"]).await);
    let mut events = stranger.stream(&calls(), json!({"text": "tidy up"})).await;
    let call = expect(&mut events, "call").await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let request = amy.expect_message("tidy up").await;
    amy.send(json!({"type": "ask", "request_id": request, "ask_id": "q", "kind": "approval", "text": "rm -rf?", "tool_name": "Bash"}))
        .await;
    assert_eq!(expect(&mut events, "chunk").await["kind"], "status");
    let path = format!("/v1/calls/{call}/answer");
    let yes = json!({"ask_id": "q", "approved": true});
    // The caller sees the pending approval, and its owner.
    assert_eq!(stranger.post(&path, yes.clone()).await.0, 401);
    amy.expect_no_bridge_frame().await;
    assert_eq!(hub.web().post(&path, yes).await.0, 204);
    amy.expect(json!({"type": "answer", "request_id": request, "ask_id": "q", "approved": true}))
        .await;
}

#[tokio::test]
async fn extensions_carry_artifacts_metadata_usage_and_states() {
    let hub = TestHub::start().await;
    let mut amy = hub.connect_bridge(AMY).await;
    let mut register = jackfield_testkit::bridge_register(AMY);
    register["extensions"] = json!(["artifacts", "input", "meta", "unheard-of"]);
    amy.send(register).await;
    let registered = amy.frame().await;
    assert_eq!(
        registered["extensions"],
        json!(["artifacts", "input", "meta"])
    );
    let body = json!({
        "parts": [{"text": "draw"}, {"data": {"n": 1.50}}, {"file": {"name": "a.txt", "bytes": "aGk="}}],
        "session": "s-1", "keep": true, "metadata": {"trace": "t"},
    });
    let mut events = hub.web().stream(&calls(), body).await;
    let opened = expect(&mut events, "call").await;
    let message = amy.frame().await;
    let request = message["request_id"].as_str().unwrap();
    let meta = &message["meta"];
    assert_eq!(meta["context_id"], "s-1");
    assert_eq!(
        (&meta["task_id"], &meta["parent"]),
        (&opened["task"], &opened["id"])
    );
    assert_eq!(
        (&meta["caller"], &meta["metadata"]),
        (&json!("local"), &json!({"trace": "t"}))
    );
    assert_eq!(meta["parts"].as_array().unwrap().len(), 3);
    for (text, last) in [("<svg", false), ("/>", true)] {
        amy.send(json!({"type": "artifact", "request_id": request, "artifact_id": "a-1", "name": "plot", "parts": [{"text": text}], "append": last, "last": last}))
            .await;
        let artifact = expect(&mut events, "artifact").await;
        assert_eq!(
            artifact,
            json!({"id": "a-1", "name": "plot", "parts": [{"text": text}], "append": last, "last": last})
        );
    }
    amy.send(json!({"type": "done", "request_id": request, "state": "input_required", "usage": {"tokens": 3}, "stop_reason": "end_turn"}))
        .await;
    let end = expect(&mut events, "done").await;
    assert_eq!(
        (&end["state"], &end["usage"], &end["stop_reason"]),
        (
            &json!("input_required"),
            &json!({"tokens": 3}),
            &json!("end_turn")
        )
    );
    // The task's next message is a new request of the same session.
    let path = format!("/v1/calls/{}/messages", opened["task"].as_str().unwrap());
    let mut events = hub.web().stream(&path, json!({"text": "in red"})).await;
    let again = amy.frame().await;
    assert_eq!(
        (&again["content"], &again["meta"]["task_id"]),
        (&json!("in red"), &opened["task"])
    );
    assert_eq!(again["session_id"], message["session_id"]);
    assert_ne!(again["request_id"], message["request_id"]);
    amy.send(done(again["request_id"].as_str().unwrap())).await;
    expect(&mut events, "call").await;
    assert_eq!(expect(&mut events, "done").await["state"], "completed");
}

#[tokio::test]
async fn a_caller_that_leaves_and_one_that_cancels_reach_the_agent() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let events = hub
        .web()
        .stream(&calls(), json!({"text": "hi", "session": "s-1"}))
        .await;
    let request = amy.expect_message("hi").await;
    drop(events);
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": request}))
        .await;
    let mut events = hub
        .web()
        .stream(
            &calls(),
            json!({"text": "hi", "session": "s-1", "keep": true}),
        )
        .await;
    let call = expect(&mut events, "call").await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let request = amy.expect_message("hi").await;
    let cancelled = hub
        .web()
        .ask(Method::POST, &format!("/v1/calls/{call}/cancel"))
        .send()
        .await
        .unwrap();
    assert!(cancelled.status().is_success(), "{cancelled:?}");
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": request}))
        .await;
    expect(&mut events, "cancelled").await;
}
