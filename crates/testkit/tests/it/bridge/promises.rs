//! Known defects of the original hub (wire notes 1.12, and remarks in 1.4), each as a promise that we keep.

use jackfield_testkit::{CallbackReceiver, Raw, TestHub, bridge_register, relay_to};
use serde_json::{Value, json};

use crate::bridge::{AMY, BOB, answer_all, done, error, failed, finished, text_event};

fn in_session(session: &str, request: &str) -> Value {
    let mut relay = relay_to(AMY, request);
    relay["session_id"] = session.into();
    relay
}

#[tokio::test]
async fn nobody_gets_the_messages_of_an_agent_by_naming_it_in_the_url() {
    let hub = TestHub::start().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut amy = hub.bridge_of(&ann, AMY).await;
    let mut attacker = hub.connect_bridge(AMY).await;
    attacker.send(bridge_register(BOB)).await;
    attacker
        .expect(json!({"type": "registered", "status": "error", "error": "agent_id differs from the one in the URL"}))
        .await;
    assert_eq!(attacker.closed().await.0, 1008);
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    answer_all(&mut amy, "r-1", "mine").await;
    assert_eq!(events.rest().await, [text_event("mine"), finished()]);
}

#[tokio::test]
async fn a_newer_connection_ends_the_relays_of_the_older_one() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut old = hub.bridge(AMY).await;
    let mut events = platform.relay(AMY, "r-1").await;
    old.expect_message("hi").await;
    old.send(crate::bridge::chunk("r-1", "so far")).await;
    events.expect(text_event("so far")).await;
    let mut new = hub.bridge(AMY).await;
    assert_eq!(
        events.rest().await,
        [failed("agent_offline", "Agent disconnected")]
    );
    assert_eq!(old.closed().await.0, 4001);
    // The new connection didn't get the request, so its frames about it are ignored.
    new.send(crate::bridge::chunk("r-1", "late")).await;
    let mut events = platform.relay(AMY, "r-1").await;
    new.expect_message("hi").await;
    answer_all(&mut new, "r-1", "anew").await;
    assert_eq!(events.rest().await, [text_event("anew"), finished()]);
}

#[tokio::test]
async fn a_request_id_that_is_open_cannot_be_taken_over() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let mut first = platform
        .stream("/api/relay", in_session("s-1", "r-1"))
        .await;
    amy.expect_message("hi").await;
    for session in ["s-1", "s-2"] {
        let (status, refused) = platform
            .post("/api/relay", in_session(session, "r-1"))
            .await;
        assert_eq!(
            (status, &refused["error"]),
            (409, &json!("invalid_message"))
        );
    }
    amy.expect_no_bridge_frame().await;
    answer_all(&mut amy, "r-1", "the first").await;
    assert_eq!(first.rest().await, [text_event("the first"), finished()]);
}

#[tokio::test]
async fn a_cancelled_request_ends_although_its_agent_says_nothing() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let mut events = platform.relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let cancel = json!({"agent_id": AMY, "session_id": "s-1"});
    let (status, answer) = platform.post("/api/cancel", cancel).await;
    assert_eq!((status, &answer["request_id"]), (200, &json!("r-1")));
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
        .await;
    assert_eq!(
        events.rest().await,
        [failed("session_not_found", "Request cancelled")]
    );
}

#[tokio::test]
async fn a_call_between_agents_that_fails_is_recorded_as_failed() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let mut watch = hub.watch(AMY);
    let call = json!({"caller_agent_id": BOB, "target_agent_id": AMY, "task_description": "t"});
    for (code, outcome) in [("adapter_crash", "crashed"), ("timeout", "timeout")] {
        let mut events = platform.stream("/api/a2a/call", call.clone()).await;
        let request = amy.expect_message("t").await;
        amy.send(error(&request, code, "no")).await;
        events.expect(failed(code, "no")).await;
        watch.until_ended().await;
        let counted = |outcome: &str| {
            let line = format!(
                "jackfield_calls_total{{door=\"bridge\",agent_door=\"bridge\",life=\"live\",outcome=\"{outcome}\"}}"
            );
            let platform = platform.clone();
            async move { platform.metric(&line).await }
        };
        assert_eq!((counted(outcome).await, counted("done").await), (1.0, 0.0));
    }
}

#[tokio::test]
async fn the_platforms_secret_is_shown_to_no_callback_that_is_not_listed() {
    let (mut listed, mut other) = (
        CallbackReceiver::start_accepting().await,
        CallbackReceiver::start_accepting().await,
    );
    let trusted = listed.url("");
    let hub = TestHub::start_with(|config| {
        config.allow_private_outbound = true;
        config.callback_trusted_origins = vec![trusted];
    })
    .await;
    let mut amy = hub.bridge(AMY).await;
    let secret = hub.platform_secret();
    for (receiver, shown) in [(&mut other, None), (&mut listed, Some(secret.as_str()))] {
        let mut relay = relay_to(AMY, "r-1");
        relay["mode"] = "async".into();
        relay["callback_url"] = receiver.url("/back").into();
        assert_eq!(hub.platform().post("/api/relay", relay).await.0, 202);
        amy.expect_message("hi").await;
        amy.send(done("r-1")).await;
        let post = receiver.next().await;
        let header = post.headers.get("x-platform-secret");
        assert_eq!(header.map(|value| value.to_str().unwrap()), shown);
        // Untrusted receivers verify the signature instead of the secret.
        let signature = post.headers["jackfield-signature"].to_str().unwrap();
        assert!(
            signature.starts_with("t=") && signature.contains(",v1="),
            "{signature}"
        );
        let everything = format!("{:?}{}", post.headers, post.body());
        assert_eq!(everything.contains(&secret), shown.is_some());
    }
}

#[tokio::test]
async fn two_requests_of_one_session_are_never_at_the_agent_together() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let mut first = platform
        .stream("/api/relay", in_session("s-1", "r-1"))
        .await;
    amy.expect_message("hi").await;
    let mut second = platform
        .stream("/api/relay", in_session("s-1", "r-2"))
        .await;
    let mut other = platform
        .stream("/api/relay", in_session("s-2", "r-3"))
        .await;
    assert_eq!(
        amy.frame().await["request_id"],
        "r-3",
        "another session does not wait"
    );
    amy.expect_no_bridge_frame().await;
    answer_all(&mut amy, "r-1", "one").await;
    assert_eq!(amy.frame().await["request_id"], "r-2");
    answer_all(&mut amy, "r-2", "two").await;
    answer_all(&mut amy, "r-3", "three").await;
    for (events, text) in [
        (&mut first, "one"),
        (&mut second, "two"),
        (&mut other, "three"),
    ] {
        assert_eq!(events.rest().await, [text_event(text), finished()]);
    }
}

/// The original notices the disconnect with its next write (1.4).
#[tokio::test]
async fn a_reader_that_hangs_up_cancels_at_once() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    drop(events);
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
        .await;
}

/// The original leaves the agent working (1.4).
#[tokio::test]
async fn an_agent_that_was_too_slow_is_told_to_stop() {
    let hub = TestHub::start_with(|config| {
        config.limits.idle_live = jackfield_core::units::Span::millis(100)
    })
    .await;
    let mut amy: Raw = hub.bridge(AMY).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let last = events.next().await;
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("error"), &json!("timeout"))
    );
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
        .await;
}
