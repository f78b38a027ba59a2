//! The HTTP responses of the original hub (wire notes 1.1 to 1.11), one row each, requested from a running hub. The
//! door's own tests cover every field; this file covers the table, with the guards and the other doors around it.
//!
//! Differences are listed, with reasons, in docs/protocols/bridge.md.

mod good;

use jackfield_testkit::{TestHub, answer, relay_to};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bridge::{AMY, BOB, NOBODY, answer_all, finished, text_event};

/// A relay with changed fields; `null` removes a field.
fn relay(changes: &Value) -> Value {
    let mut body = relay_to(AMY, "r-1");
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(body.as_object_mut().unwrap().remove(name)),
            value => body[name] = value.clone(),
        }
    }
    body
}

/// A hub with an online agent and an offline agent.
async fn hub() -> (TestHub, jackfield_testkit::Raw) {
    let hub = TestHub::start().await;
    let amy = hub.bridge(AMY).await;
    let mut watch = hub.watch(BOB);
    hub.bridge(BOB).await.close().await;
    watch.until_offline().await;
    (hub, amy)
}

#[tokio::test]
async fn every_refusal_has_the_status_and_the_code_of_the_original() {
    let (hub, mut amy) = hub().await;
    let platform = hub.platform();
    let (get, post) = (Method::GET, Method::POST);
    let none = Value::Null;
    let large = "x".repeat(5 << 20);
    let (invalid, bad_id) = ((400, "invalid_message"), (400, "invalid_agent_id"));
    let (bad_query, too_large) = ((400, "invalid_request"), (413, "payload_too_large"));
    let (offline, not_found) = ((404, "agent_offline"), (404, "not_found"));
    let status_of = format!("/api/task-status?agent_id={AMY}&request_id=r-9");
    let events_of = format!("/api/relay/events?agent_id={AMY}&request_id=r-9");
    let (rtc_amy, rtc_bob) = (
        format!("/api/rtc-signal/{AMY}"),
        format!("/api/rtc-signal/{BOB}"),
    );
    let a2a = |caller: &str, target: &str, task: &str| json!({"caller_agent_id": caller, "target_agent_id": target, "task_description": task});
    // (method, path, body, (status, code), part of the message)
    let rows = [
        // 1.1 routing: with the secret, an unknown path is 404, a wrong method too.
        (&get, "/api/nothing", none.clone(), not_found, ""),
        (&get, "/api/relay", none.clone(), not_found, ""),
        (&Method::PUT, "/api/relay", none.clone(), not_found, ""),
        (&Method::DELETE, "/api/cancel", none.clone(), not_found, ""),
        (
            &get,
            "/api/agents/a%2F..%2Fb/status",
            none.clone(),
            bad_id,
            "",
        ),
        // 1.4 relay, in the order of the checks.
        (&post, "/api/relay", json!("{no json"), invalid, "JSON"),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": null})),
            invalid,
            "agent_id",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": "../x"})),
            bad_id,
            "",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": BOB, "content": large})),
            too_large,
            "at most",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": BOB})),
            offline,
            "Agent is not connected",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": NOBODY})),
            offline,
            "Agent is not connected",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"agent_id": BOB, "content": null})),
            offline,
            "",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"session_id": null})),
            invalid,
            "Missing required fields",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"request_id": null})),
            invalid,
            "Missing required fields",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"content": null})),
            invalid,
            "Missing required fields",
        ),
        (
            &post,
            "/api/relay",
            relay(&json!({"content": ""})),
            invalid,
            "Missing required fields",
        ),
        // 1.5 async.
        (
            &get,
            "/api/task-status",
            none.clone(),
            bad_query,
            "agent_id",
        ),
        (&get, &status_of, none.clone(), not_found, "Task not found"),
        (&get, &events_of, none.clone(), not_found, "Task not found"),
        // 1.6 cancel.
        (&post, "/api/cancel", json!({}), invalid, "agent_id"),
        (
            &post,
            "/api/cancel",
            json!({"agent_id": "../x", "session_id": "s"}),
            bad_id,
            "",
        ),
        (
            &post,
            "/api/cancel",
            json!({"agent_id": BOB, "session_id": "s"}),
            offline,
            "",
        ),
        (
            &post,
            "/api/cancel",
            json!({"agent_id": AMY}),
            invalid,
            "session_id",
        ),
        // 1.7 agents.
        (&post, "/api/disconnect", json!({}), invalid, "agent_id"),
        (
            &post,
            "/api/disconnect",
            json!({"agent_id": "../x"}),
            bad_id,
            "",
        ),
        (
            &post,
            "/api/agents-by-token",
            json!({}),
            invalid,
            "token_hash",
        ),
        // 1.8 calls of agents.
        (
            &post,
            "/api/a2a/call",
            a2a(AMY, BOB, ""),
            invalid,
            "task_description",
        ),
        (&post, "/api/a2a/call", a2a("../x", AMY, "t"), bad_id, ""),
        (&post, "/api/a2a/call", a2a(AMY, "../x", "t"), bad_id, ""),
        (&post, "/api/a2a/call", a2a(AMY, AMY, &large), too_large, ""),
        (
            &post,
            "/api/a2a/call",
            a2a(AMY, BOB, "t"),
            offline,
            "Target agent is not connected",
        ),
        // 1.10 signals.
        (
            &post,
            &rtc_amy,
            json!({"signal_type": "offer"}),
            invalid,
            "transfer_id",
        ),
        (
            &post,
            &rtc_bob,
            json!({"transfer_id": "t", "signal_type": "offer"}),
            offline,
            "",
        ),
    ];
    let mut wrong = Vec::new();
    for (method, path, body, expected, says) in rows {
        let request = platform.ask(method.clone(), path);
        let request = match &body {
            Value::Null => request,
            Value::String(text) => request.body(text.clone()),
            body => request.json(body),
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let content_type = response.headers()["content-type"].clone();
        let answer: Value = response.json().await.unwrap();
        let message = answer["message"].as_str().unwrap_or_default();
        let is_right = (status, answer["error"].as_str().unwrap_or_default()) == expected
            && content_type == "application/json"
            && answer.as_object().unwrap().len() == 2
            && !message.is_empty()
            && message.contains(says);
        if !is_right {
            wrong.push(format!(
                "{method} {path}: {status} {content_type:?} {answer}, not {expected:?} {says:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    amy.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn without_the_secret_nothing_below_api_exists() {
    let hub = TestHub::start().await;
    for (method, path) in [
        (Method::POST, "/api/relay"),
        (Method::GET, "/api/relay"),
        (Method::GET, "/api/nothing"),
        (Method::GET, "/api"),
    ] {
        for secret in [None, Some(""), Some("wrong")] {
            let mut request = hub.web().ask(method.clone(), path);
            if let Some(secret) = secret {
                request = request.header("X-Platform-Secret", secret);
            }
            let (status, answer) = answer(request).await;
            assert_eq!(
                (status, &answer["error"]),
                (401, &json!("auth_failed")),
                "{path} {secret:?}"
            );
        }
    }
    // Tokens of the other doors don't work here, and the secret doesn't work there.
    let token = hub.token("ann", &["admin"]).await;
    let (status, _) = hub
        .web_of(&token)
        .post("/api/relay", relay_to(AMY, "r"))
        .await;
    assert_eq!(status, 401);
}

/// Rows of the table above where our responses differ from the original.
#[tokio::test]
async fn the_handshake_is_answered_for_both_protocols_of_its_address() {
    let hub = TestHub::start().await;
    for path in ["/ws", &format!("/ws?agent_id={AMY}")] {
        let (status, answer) = hub.web().get(path).await;
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("invalid_handshake")),
            "{path}"
        );
    }
    // Routes outside of `/api` don't ask for the secret.
    for path in ["/nothing", "/wsx", "/apix"] {
        let response = hub.web().ask(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 404, "{path}");
    }
    let mut raw = hub.connect_bridge("..%2Fx").await;
    raw.send(jackfield_testkit::bridge_register("../x")).await;
    let refused = raw.frame().await;
    assert_eq!(
        (&refused["type"], &refused["status"]),
        (&json!("registered"), &json!("error"))
    );
    assert_eq!(raw.closed().await.0, 1008);
}

#[tokio::test]
async fn browsers_are_answered_but_no_origin_is_let_in() {
    let hub = TestHub::start().await;
    for path in ["/api/relay", "/api/nothing", "/health"] {
        let request = hub.web().ask(Method::OPTIONS, path);
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let headers = response.headers();
        assert_eq!(
            headers["access-control-allow-methods"],
            "GET, POST, OPTIONS"
        );
        assert_eq!(
            headers["access-control-allow-headers"],
            "Content-Type, X-Platform-Secret"
        );
        assert_eq!(headers["vary"], "Origin");
        assert!(!headers.contains_key("access-control-allow-origin"));
        assert_eq!(response.text().await.unwrap(), "");
    }
}

#[tokio::test]
async fn too_many_calls_at_one_agent_are_429() {
    let hub = TestHub::start_with(|config| config.limits.pending_per_agent = 1).await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    let mut events = platform.relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let (status, answer) = platform.post("/api/relay", relay_to(AMY, "r-2")).await;
    assert_eq!((status, &answer["error"]), (429, &json!("agent_busy")));
    answer_all(&mut amy, "r-1", "still here").await;
    assert_eq!(events.rest().await, [text_event("still here"), finished()]);
    // Capacity is free again.
    let mut events = platform.relay(AMY, "r-2").await;
    amy.expect_message("hi").await;
    answer_all(&mut amy, "r-2", "again").await;
    assert_eq!(events.rest().await, [text_event("again"), finished()]);
}
