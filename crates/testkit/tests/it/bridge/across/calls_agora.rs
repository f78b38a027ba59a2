//! A bridge agent calls an Agora agent by `call_agent`.

use jackfield_model::{Done, End};
use jackfield_testkit::{Raw, TestHub, attach_agent, with_files};
use serde_json::{Value, json};

use super::{agora_files, both, bridge_files, pieces, reply_chunk};
use crate::bridge::{AMY, with};

/// Calls, and returns the received message.
async fn call(amy: &mut Raw, ada: &mut Raw, call_id: &str) -> Value {
    amy.send(json!({"type": "call_agent", "target_agent_id": "ada", "task_description": "why?", "call_id": call_id}))
        .await;
    ada.frame().await
}

fn text_event(call_id: &str, text: &str) -> Value {
    json!({"type": "call_agent_chunk", "call_id": call_id, "delta": text})
}

fn finished(call_id: &str) -> Value {
    json!({"type": "call_agent_done", "call_id": call_id})
}

#[tokio::test]
async fn a_whole_reply_is_one_chunk_and_the_end() {
    let (_hub, mut amy, mut ada) = both().await;
    let message = call(&mut amy, &mut ada, "c-1").await;
    assert_eq!(
        message,
        json!({
            "type": "message", "from": message["from"], "caller": AMY,
            "payload": {"action": "query", "body": {"question": "why?"}, "request_id": "c-1", "session_id": "a2a-c-1"},
        })
    );
    ada.send(
        json!({"type": "reply", "to": message["from"], "payload": {"body": {"answer": "because"}}}),
    )
    .await;
    amy.expect(text_event("c-1", "because")).await;
    amy.expect(finished("c-1")).await;
}

#[tokio::test]
async fn a_streamed_reply_keeps_its_kinds_and_tools() {
    let (_hub, mut amy, mut ada) = both().await;
    let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
    ada.send(json!({"type": "reply", "to": to, "stream": true, "stream_id": "x"}))
        .await;
    for (text, fields) in pieces() {
        ada.send(reply_chunk(&to, text, &fields)).await;
        amy.expect(with(text_event("c-1", text), &fields)).await;
    }
    // Text repeated at the end isn't sent twice.
    ada.send(
        json!({"type": "reply_end", "to": to, "stream_id": "x", "payload": {"answer": "it is 2"}}),
    )
    .await;
    amy.expect(finished("c-1")).await;
    amy.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn files_and_words_that_are_made_on_the_way_arrive() {
    let (_hub, mut amy, mut ada) = both().await;
    let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
    ada.send(json!({"type": "reply", "to": to, "payload": {"answer": "see there", "attachments": agora_files()}}))
        .await;
    amy.expect(text_event("c-1", "see there")).await;
    let mut end = finished("c-1");
    end["attachments"] = bridge_files();
    assert_eq!(with_files(amy.frame().await).await, end);

    let to = call(&mut amy, &mut ada, "c-2").await["from"].clone();
    let file =
        json!({"file": {"name": "a.png", "mime": "image/png", "uri": "https://files.example/a"}});
    ada.send(json!({"type": "reply", "to": to, "payload": {"artifacts": [{"id": "1", "parts": [{"text": "made"}, file]}]}}))
        .await;
    amy.expect(text_event("c-2", "made")).await;
    let mut end = finished("c-2");
    end["attachments"] = json!([bridge_files()[0]]);
    amy.expect(end).await;
}

/// Agents of other doors may send their whole answer at the end.
#[tokio::test]
async fn an_answer_that_comes_only_with_the_end_is_heard() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut amy = hub.bridge(AMY).await;
    amy.send(json!({"type": "call_agent", "target_agent_id": "fake", "task_description": "why?", "call_id": "c-1"}))
        .await;
    fake.next_call().await.finish(End::Done(Box::new(Done {
        result: Some("because".to_owned()),
        ..Done::default()
    })));
    amy.expect(text_event("c-1", "because")).await;
    amy.expect(finished("c-1")).await;
}

#[tokio::test]
async fn a_failure_keeps_its_words_and_its_code() {
    let (_hub, mut amy, mut ada) = both().await;
    for (code, told) in [
        ("quota", "quota"),
        ("rate_limited", "rate_limited"),
        ("agent_busy", "agent_busy"),
    ] {
        let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
        ada.send(reply_chunk(&to, "well", &json!({}))).await;
        ada.send(json!({"type": "error", "to": to, "code": code, "message": "no more"}))
            .await;
        amy.expect(text_event("c-1", "well")).await;
        amy.expect(json!({"type": "call_agent_error", "call_id": "c-1", "code": told, "message": "no more"}))
            .await;
    }
    // The called agent may also fail without a reason, or refuse.
    let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
    ada.send(json!({"type": "cancel", "to": to, "request_id": "c-1"}))
        .await;
    let end = amy.frame().await;
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("call_agent_error"), &json!("session_not_found"))
    );
    let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
    ada.send(json!({"type": "reply", "to": to, "payload": {"state": "rejected"}}))
        .await;
    let end = amy.frame().await;
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("call_agent_error"), &json!("internal_error")),
        "{end}"
    );
}

#[tokio::test]
async fn a_question_is_told_and_waited_for() {
    let (_hub, mut amy, mut ada) = both().await;
    let to = call(&mut amy, &mut ada, "c-1").await["from"].clone();
    ada.send(json!({"type": "reply", "to": to, "payload": {"input_required": {"id": "q", "text": "which city?"}}}))
        .await;
    let status = amy.frame().await;
    assert_eq!(
        (&status["type"], &status["kind"]),
        (&json!("call_agent_chunk"), &json!("status"))
    );
    assert!(status["delta"].as_str().unwrap().contains("which city?"));
    ada.send(json!({"type": "reply", "to": to, "payload": "never mind"}))
        .await;
    amy.expect(text_event("c-1", "never mind")).await;
    amy.expect(finished("c-1")).await;
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_and_an_agent_that_leaves_is_told_of() {
    let (hub, mut amy, mut ada) = both().await;
    let message = call(&mut amy, &mut ada, "c-1").await;
    amy.close().await;
    ada.expect(json!({"type": "cancel", "from": message["from"], "request_id": "c-1"}))
        .await;
    let mut amy = hub.bridge(AMY).await;
    call(&mut amy, &mut ada, "c-1").await;
    ada.close().await;
    let end = amy.frame().await;
    assert_eq!(
        (&end["type"], &end["call_id"], &end["code"]),
        (
            &json!("call_agent_error"),
            &json!("c-1"),
            &json!("agent_offline")
        )
    );
}
