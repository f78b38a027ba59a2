//! Requests beside each other: cancelling them, and two of one session.

use jackfield_model::Event;
use serde_json::{Value, json};

use crate::http::harness::{BridgeHub, chunk, done, error, relay_body};

fn cancel(agent: &str, session: &str, request: Option<&str>) -> Value {
    let mut body = json!({"agent_id": agent, "session_id": session});
    if let Some(request) = request {
        body["request_id"] = json!(request);
    }
    body
}

/// Real agents that are cancelled say nothing more, and in the original hub the stream hung for ever.
#[tokio::test]
async fn a_cancel_reaches_the_agent_and_ends_the_stream() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    call.push(Event::text("so far"));
    assert_eq!(stream.data().await, chunk("so far"));
    let (status, answer) = hub
        .post("/api/cancel", cancel("amy", "s1", Some("r1")))
        .await;
    assert_eq!(status.as_u16(), 200);
    assert_eq!(
        answer,
        json!({"success": true, "session_id": "s1", "request_id": "r1"})
    );
    assert_eq!(amy.next_cancel().await, call.call().id);
    let cancelled = error("session_not_found", "Request cancelled");
    assert_eq!(stream.rest().await, [cancelled]);
}

#[tokio::test]
async fn a_cancel_without_a_request_ends_what_the_session_is_at() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut first = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    let mut second = hub.relay("amy", "r2").await;
    let mut body = relay_body("amy", "r3");
    body["session_id"] = json!("s2");
    let mut other = hub.stream("/api/relay", body).await;
    let untouched = amy.next_call().await;
    let (_, answer) = hub.post("/api/cancel", cancel("amy", "s1", None)).await;
    assert_eq!(answer["request_id"], "r1");
    assert_eq!(amy.next_cancel().await, call.call().id);
    let cancelled = error("session_not_found", "Request cancelled");
    assert_eq!(first.rest().await, std::slice::from_ref(&cancelled));
    assert_eq!(second.rest().await, [cancelled]);
    untouched.finish(done(""));
    assert_eq!(other.rest().await, [json!({"type": "done"})]);
    assert!(
        amy.has_nothing_to_do(),
        "the one that waited never reached the agent"
    );
}

#[tokio::test]
async fn a_cancel_of_nothing_is_no_error_as_long_as_the_agent_is_there() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    for (session, request) in [("s1", "r9"), ("s9", "r1")] {
        let (status, answer) = hub
            .post("/api/cancel", cancel("amy", session, Some(request)))
            .await;
        assert_eq!(
            (status.as_u16(), &answer["request_id"]),
            (200, &json!(request))
        );
    }
    let (status, answer) = hub.post("/api/cancel", cancel("amy", "s9", None)).await;
    assert_eq!(status.as_u16(), 200);
    assert_eq!(
        answer["request_id"].as_str().unwrap().len(),
        36,
        "some id, as the original gives"
    );
    call.finish(done(""));
    assert_eq!(
        stream.rest().await,
        [json!({"type": "done"})],
        "nothing else was touched"
    );
}

/// Real agents would label the output of the first request with the id of the second.
#[tokio::test]
async fn two_requests_of_one_session_come_one_after_the_other() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut first = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    let mut second = hub.relay("amy", "r2").await;
    assert!(amy.has_nothing_to_do());
    call.push(Event::text("one"));
    call.finish(done("one"));
    assert_eq!(first.rest().await, [chunk("one"), json!({"type": "done"})]);
    let call = amy.next_call().await;
    assert_eq!(call.call().request.as_str(), "r2");
    call.push(Event::text("two"));
    call.finish(done("two"));
    assert_eq!(second.rest().await, [chunk("two"), json!({"type": "done"})]);
}
