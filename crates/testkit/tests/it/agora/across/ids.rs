//! The ids of an Agora agent's calls to other doors: sessions, requests, streams.

use serde_json::json;

use super::{ask, caller_and_fake, done};

#[tokio::test]
async fn each_pair_has_a_session_unless_the_caller_names_one() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    let default = serving.call().session.clone();
    serving.finish(done("1"));
    assert!(caller.frame().await["payload"].get("session_id").is_none());
    caller.send(ask("r")).await;
    assert_eq!(fake.next_call().await.call().session, default);
    caller.frame().await;
    caller
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r", "session_id": "holiday"}}))
        .await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().session.as_str(), "holiday");
    serving.finish(done("2"));
    assert_eq!(caller.frame().await["payload"]["session_id"], "holiday");
}

#[tokio::test]
async fn an_id_that_is_open_already_is_a_conflict() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller
        .send(
            json!({"type": "send", "to": "fake", "stream_id": "s", "payload": {"request_id": "r"}}),
        )
        .await;
    let serving = fake.next_call().await;
    for (stream_id, request_id, stream) in [
        ("s", "r2", false),
        ("s2", "r", false),
        ("s2", "r", true),
        ("s", "r2", true),
    ] {
        caller
            .send(json!({"type": "send", "to": "fake", "stream_id": stream_id, "stream": stream, "request_id": request_id}))
            .await;
        caller
            .expect_error(json!({"code": "conflict", "to": "fake", "stream_id": stream_id, "request_id": request_id, "frame_type": "send"}))
            .await;
    }
    // The open call isn't affected.
    assert!(!serving.call().is_ended());
    serving.finish(done("still"));
    assert_eq!(caller.frame().await["payload"]["body"]["answer"], "still");
    caller.send(ask("r")).await;
    fake.next_call().await.finish(done("free again"));
    caller.frame().await;
}
