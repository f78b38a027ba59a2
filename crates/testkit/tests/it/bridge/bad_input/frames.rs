//! Frames of a registered agent that are unmatched, too late, too large or unreadable.

use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use super::{Bystander, counted};
use crate::bridge::{AMY, BOB, chunk, done, error, failed, finished, text_event};

#[tokio::test]
async fn nobody_answers_for_another_agent() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let mut bob = hub.bridge_with(BOB, &["artifacts", "input"]).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let before = counted(&hub.web()).await;
    let lies = [
        chunk("r-1", "lies"),
        error("r-1", "adapter_crash", "lies"),
        done("r-1"),
        json!({"type": "artifact", "request_id": "r-1", "artifact_id": "a", "parts": [{"text": "lies"}]}),
        json!({"type": "ask", "request_id": "r-1", "ask_id": "q", "kind": "input", "text": "lies?"}),
    ];
    let number = lies.len();
    for frame in lies {
        bob.send(frame).await;
    }
    // The agent learns nothing about the request.
    bob.expect_no_bridge_frame().await;
    assert_eq!(counted(&hub.web()).await - before, number as f64);
    amy.send(chunk("r-1", "the truth")).await;
    amy.send(done("r-1")).await;
    assert_eq!(events.rest().await, [text_event("the truth"), finished()]);
}

#[tokio::test]
async fn what_comes_after_the_end_is_counted_and_dropped() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    for (first, expected) in [
        (done("r-1"), finished()),
        (error("r-1", "agent_busy", "no"), failed("agent_busy", "no")),
    ] {
        let mut events = platform.relay(AMY, "r-1").await;
        amy.expect_message("hi").await;
        amy.send(first).await;
        assert_eq!(events.rest().await, [expected]);
        let before = counted(&platform).await;
        for late in [
            chunk("r-1", "late"),
            done("r-1"),
            error("r-1", "timeout", "late"),
            chunk("r-1", "later"),
        ] {
            amy.send(late).await;
        }
        amy.expect_no_bridge_frame().await;
        assert_eq!(counted(&platform).await - before, 4.0);
    }
    // A cancelled request is over, too.
    let events = platform.relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    drop(events);
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
        .await;
    let before = counted(&platform).await;
    amy.send(chunk("r-1", "late")).await;
    amy.send(done("r-1")).await;
    amy.expect_no_bridge_frame().await;
    assert_eq!(counted(&platform).await - before, 2.0);
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn a_request_never_ended_is_not_ended_by_another_ones_end() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    let mut one = platform.relay(AMY, "r-1").await;
    let mut body = jackfield_testkit::relay_to(AMY, "r-2");
    body["session_id"] = "s-2".into();
    let mut two = platform.stream("/api/relay", body).await;
    amy.expect_message("hi").await;
    amy.expect_message("hi").await;
    // The frame's session is ignored; the request id counts.
    amy.send(json!({"type": "done", "session_id": "s-2", "request_id": "r-1"}))
        .await;
    assert_eq!(one.rest().await, [finished()]);
    amy.send(chunk("r-2", "open")).await;
    two.expect(text_event("open")).await;
}

#[tokio::test]
async fn frames_that_cannot_be_read_are_answered_and_the_connection_goes_on() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge(AMY).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    // About a request that isn't open; an open request would end.
    let in_chunk = |field: &str| json!({"code": "invalid_message", "frame_type": "chunk", "request_id": "r-9", "field": field});
    for (text, fields) in [
        ("hello".to_owned(), json!({"code": "invalid_message"})),
        ("[]".to_owned(), json!({"code": "invalid_message"})),
        (
            "{}".to_owned(),
            json!({"code": "invalid_message", "field": "type"}),
        ),
        (
            r#"{"type":"chunk","request_id":"r-9"}"#.to_owned(),
            in_chunk("delta"),
        ),
        (
            r#"{"type":"chunk","request_id":"r-9","delta":7}"#.to_owned(),
            in_chunk("delta"),
        ),
        (
            format!(r#"{{"type":"chunk","request_id":"r-9","delta":"","x":{deep}}}"#),
            in_chunk("x"),
        ),
        (
            r#"{"type":"rtc_signal","transfer_id":"t"}"#.to_owned(),
            json!({"code": "invalid_message", "frame_type": "rtc_signal", "field": "target_agent_id"}),
        ),
    ] {
        amy.send_text(text).await;
        amy.expect_error(fields).await;
    }
    // An unreadable call fails like any call.
    amy.send(json!({"type": "call_agent", "call_id": "c-1", "target_agent_id": BOB}))
        .await;
    let refused = amy.frame().await;
    assert_eq!(
        (&refused["type"], &refused["call_id"], &refused["code"]),
        (
            &json!("call_agent_error"),
            &json!("c-1"),
            &json!("invalid_message")
        )
    );
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("task_description")
    );
    // Unknown types are answered, unlike in the original, and do no harm.
    amy.send(json!({"type": "shout", "request_id": "r-1"}))
        .await;
    amy.expect_error(json!({"code": "invalid_message", "frame_type": "shout", "field": "type"}))
        .await;
    amy.send(json!({"type": "chunk", "request_id": "r-1", "delta": "x", "kind": "unheard-of"}))
        .await;
    events.expect(text_event("x")).await;
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn an_end_that_cannot_be_read_is_an_end_all_the_same() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    for end in [
        json!({"type": "done", "request_id": "r-1", "attachments": "none"}),
        json!({"type": "error", "request_id": "r-1", "code": 7}),
    ] {
        let mut events = hub.platform().relay(AMY, "r-1").await;
        amy.expect_message("hi").await;
        amy.send(end).await;
        let last = events.next().await;
        assert_eq!(
            (&last["type"], &last["code"]),
            (&json!("error"), &json!("internal_error"))
        );
        assert_eq!(amy.frame().await["code"], "invalid_message");
    }
}

#[tokio::test]
async fn an_agent_learns_nothing_of_agents_that_are_not_its_owners() {
    let hub = TestHub::start().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge_of(&ann, AMY).await;
    amy.send(json!({"type": "discover_agents"})).await;
    let found = amy.frame().await;
    let ids: Vec<&Value> = found["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(ids, [AMY]);
    // Existing and unknown agents get the same error.
    let mut errors = Vec::new();
    for id in ["bystander", "by-nobody"] {
        amy.send(json!({"type": "call_agent", "target_agent_id": id, "task_description": "t", "call_id": "c"}))
            .await;
        let call = amy.frame().await;
        amy.send(json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": id, "signal_type": "offer"}))
            .await;
        let signal = amy.frame().await;
        errors.push(format!("{call}{signal}").replace(id, "ID"));
    }
    assert_eq!(errors[0], errors[1]);
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn the_same_open_call_id_is_a_conflict_and_the_first_call_goes_on() {
    let hub = TestHub::start().await;
    let (mut amy, mut bob) = (hub.bridge(AMY).await, hub.bridge(BOB).await);
    let call = json!({"type": "call_agent", "target_agent_id": BOB, "task_description": "t", "call_id": "c-1"});
    amy.send(call.clone()).await;
    bob.expect_message("t").await;
    amy.send(call).await;
    let refused = amy.frame().await;
    assert_eq!(
        (&refused["type"], &refused["code"]),
        (&json!("call_agent_error"), &json!("invalid_message"))
    );
    bob.expect_no_bridge_frame().await;
    bob.send(chunk("c-1", "yes")).await;
    amy.expect(json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "yes"}))
        .await;
}

#[tokio::test]
async fn ids_and_questions_that_are_too_long_fail_their_request_and_the_agent_is_told() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge_with(AMY, &["artifacts", "input"]).await;
    let (id, words) = ("x".repeat(257), "x".repeat(257 << 10));
    for (frame, named) in [
        (
            json!({"type": "artifact", "request_id": "r-1", "artifact_id": id, "parts": [{"text": ""}]}),
            "artifact_id",
        ),
        (
            json!({"type": "ask", "request_id": "r-1", "ask_id": id, "kind": "input", "text": "?"}),
            "ask_id",
        ),
        (
            json!({"type": "ask", "request_id": "r-1", "ask_id": "q", "kind": "input", "text": words}),
            "256KiB",
        ),
    ] {
        let mut events = hub.platform().relay(AMY, "r-1").await;
        amy.expect_message("hi").await;
        amy.send(frame).await;
        amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
            .await;
        let expected = events.rest().await;
        assert_eq!(expected.len(), 1, "{expected:?}");
        assert_eq!(expected[0]["code"], "invalid_message");
        let message = expected[0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(named), "{message}");
    }
}
