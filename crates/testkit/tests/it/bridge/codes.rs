//! The nine error codes of the specification, each caused for real, everywhere a peer can see them: as the HTTP
//! response to a relay, in its stream, in the callback and status of an async relay, and by `call_agent`.

use jackfield_core::units::{Size, Span};
use jackfield_testkit::{CallbackReceiver, Raw, TestHub, bridge_register, relay_to};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bridge::{AMY, BOB, NOBODY, chunk, error, failed};

/// The codes in the order of the specification, with the HTTP status for codes that refuse a request.
const CODES: [(&str, Option<u16>); 9] = [
    ("timeout", None),
    ("adapter_crash", None),
    ("agent_busy", Some(429)),
    ("auth_failed", Some(401)),
    ("agent_offline", Some(404)),
    ("invalid_message", Some(400)),
    ("session_not_found", None),
    ("rate_limited", Some(429)),
    ("internal_error", None),
];

/// A hub with short timeouts, whose agents are busy with two calls.
async fn hub() -> TestHub {
    TestHub::start_with(|config| {
        config.allow_private_outbound = true;
        let limits = &mut config.limits;
        limits.pending_per_agent = 2;
        (limits.idle_live, limits.idle_kept) = (Span::secs(3), Span::secs(3));
    })
    .await
}

/// The HTTP responses: codes that refuse a request before any event.
#[tokio::test]
async fn codes_that_refuse_a_request_have_their_http_status() {
    let hub = hub().await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let settings = json!({"settings": {"allow_a2a": false}});
    let patch = hub
        .web()
        .ask(Method::PATCH, &format!("/v1/agents/{AMY}"))
        .json(&settings);
    assert!(patch.send().await.unwrap().status().is_success());
    let _open = [
        platform.relay(AMY, "r-1").await,
        platform.relay(AMY, "r-2").await,
    ];
    amy.expect_message("hi").await;
    let call = json!({"caller_agent_id": BOB, "target_agent_id": AMY, "task_description": "t"});
    let empty = json!({"agent_id": AMY});
    let stranger = hub.web();
    let mut met = Vec::new();
    for (client, path, body) in [
        (&platform, "/api/relay", relay_to(AMY, "r-3")),
        (&stranger, "/api/relay", relay_to(AMY, "r-3")),
        (&platform, "/api/relay", relay_to(NOBODY, "r-3")),
        (&platform, "/api/relay", empty),
        (&platform, "/api/a2a/call", call),
    ] {
        let (status, answer) = client.post(path, body).await;
        assert!(!answer["message"].as_str().unwrap().is_empty());
        met.push((answer["error"].as_str().unwrap().to_owned(), status));
    }
    let expected = CODES
        .into_iter()
        .filter_map(|(code, status)| Some((code.to_owned(), status?)));
    assert_eq!(met, expected.collect::<Vec<_>>());
    amy.expect_no_bridge_frame().await;
}

/// Causes a code in a request at the agent, other than by the agent's own `error` frame.
async fn bring_about(hub: &TestHub, agent: &mut Raw, request: &str, code: &str) {
    match code {
        // The agent stays silent for too long.
        "timeout" => {}
        "adapter_crash" => agent.send(error(request, code, "it died")).await,
        "agent_offline" => agent.send_raw(0x88, b"").await,
        "session_not_found" => {
            let cancel = json!({"agent_id": AMY, "session_id": "s-1", "request_id": request});
            assert_eq!(hub.platform().post("/api/cancel", cancel).await.0, 200);
        }
        "internal_error" => agent.send(error(request, code, "no more")).await,
        // The agent may also send the codes of refused requests.
        "agent_busy" | "auth_failed" | "invalid_message" | "rate_limited" => {
            agent.send(error(request, code, "says the agent")).await;
        }
        other => panic!("{other}"),
    }
}

/// The error message of a caused code.
fn words(code: &str, is_kept: bool) -> &'static str {
    match (code, is_kept) {
        ("timeout", false) => "Agent did not respond within 3 seconds",
        ("timeout", true) => "No activity for 3 seconds",
        ("adapter_crash", _) => "it died",
        ("agent_offline", _) => "Agent disconnected",
        ("session_not_found", _) => "Request cancelled",
        ("internal_error", _) => "no more",
        _ => "says the agent",
    }
}

#[tokio::test]
async fn every_code_ends_a_stream() {
    let hub = hub().await;
    for (code, _) in CODES {
        let mut amy = hub.bridge(AMY).await;
        let mut watch = hub.watch(AMY);
        let mut events = hub.platform().relay(AMY, "r-1").await;
        amy.expect_message("hi").await;
        amy.send(chunk("r-1", "so far")).await;
        events.expect(crate::bridge::text_event("so far")).await;
        bring_about(&hub, &mut amy, "r-1", code).await;
        let mut last = events.next().await;
        while last["type"] == "keepalive" {
            last = events.next().await;
        }
        assert_eq!(last, failed(code, words(code, false)));
        assert_eq!(events.maybe_next().await, None, "{code}");
        drop(amy);
        watch.until_offline().await;
    }
}

#[tokio::test]
async fn every_code_is_in_the_callback_and_in_the_status() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let hub = hub().await;
    let platform = hub.platform();
    for (code, _) in CODES {
        let mut amy = hub.bridge(AMY).await;
        let mut watch = hub.watch(AMY);
        let mut body = relay_to(AMY, code);
        body["mode"] = "async".into();
        body["callback_url"] = receiver.url("/back").into();
        assert_eq!(platform.post("/api/relay", body).await.0, 202);
        amy.expect_message("hi").await;
        bring_about(&hub, &mut amy, code, code).await;
        let expected_body = json!({"request_id": code, "status": "failed", "error_code": code, "error_message": words(code, true)});
        assert_eq!(receiver.next().await.body(), expected_body);
        let path = format!("/api/task-status?agent_id={AMY}&request_id={code}");
        let (status, shown) = platform.get(&path).await;
        assert_eq!(status, 200);
        for (field, value) in expected_body.as_object().unwrap() {
            assert_eq!(shown[field], *value, "{shown}");
        }
        drop(amy);
        watch.until_offline().await;
    }
}

#[tokio::test]
async fn every_code_reaches_an_agent_that_calls_another() {
    let hub = hub().await;
    let mut amy = hub.bridge(AMY).await;
    for (code, _) in CODES {
        let mut bob = hub.bridge(BOB).await;
        let mut watch = hub.watch(BOB);
        amy.send(json!({"type": "call_agent", "target_agent_id": BOB, "task_description": "t", "call_id": "c-1", "session_id": "s-1"}))
            .await;
        bob.expect_message("t").await;
        match code {
            // The platform can't cancel another's request; the operator can.
            "session_not_found" => {
                let call = hub
                    .hub()
                    .agents()
                    .find(&jackfield_core::principal::Principal::local(), BOB)
                    .unwrap()
                    .open_call("c-1")
                    .unwrap();
                let path = format!("/v1/calls/{}/cancel", call.id);
                assert!(
                    hub.web()
                        .ask(Method::POST, &path)
                        .send()
                        .await
                        .unwrap()
                        .status()
                        .is_success()
                );
            }
            code => bring_about(&hub, &mut bob, "c-1", code).await,
        }
        let end: Value = amy.frame().await;
        assert_eq!(
            (&end["type"], &end["call_id"], &end["code"]),
            (&json!("call_agent_error"), &json!("c-1"), &json!(code)),
            "{end}"
        );
        drop(bob);
        watch.until_offline().await;
    }
}

/// The hub's own codes for agents and readers, beside forwarded codes.
#[tokio::test]
async fn the_hub_says_its_own_codes_to_those_they_concern() {
    let hub = TestHub::start_with(|config| {
        let limits = &mut config.limits;
        limits.pending_per_agent = 1;
        limits.pipe_full = Size::kib(64);
        limits.pipe_low = Size::kib(32);
        limits.pipe_stalled = Span::millis(100);
    })
    .await;
    // auth_failed: a register without valid proof.
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut hers = hub.bridge_of(&ann, BOB).await;
    let mut raw = hub.connect_bridge(BOB).await;
    raw.send(bridge_register(BOB)).await;
    raw.expect(json!({"type": "registered", "status": "error", "error": "Authentication failed"}))
        .await;
    // invalid_message: an unreadable frame.
    hers.send(json!({"type": "chunk"})).await;
    assert_eq!(hers.frame().await["code"], "invalid_message");
    // agent_busy: a call beyond the limit.
    let mut amy = hub.bridge(AMY).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let mut caller = hub.bridge("caller").await;
    caller.send(json!({"type": "call_agent", "target_agent_id": AMY, "task_description": "t", "call_id": "c"})).await;
    assert_eq!(caller.frame().await["code"], "agent_busy");
    // internal_error: a reader that doesn't read, with more bytes than sockets hold. The agent gets a
    // cancel.
    let text = "x".repeat(60 << 10);
    for _ in 0..400 {
        amy.send(chunk("r-1", &text)).await;
    }
    amy.expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}))
        .await;
    let events_seen = events.rest().await;
    let last = events_seen.last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("error"), &json!("internal_error")),
        "{last}"
    );
}
