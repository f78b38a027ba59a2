//! Successful responses to the platform: exactly the fields of the original.

use jackfield_testkit::{CallbackReceiver, TestHub, relay_to};
use serde_json::{Value, json};

use crate::bridge::{AMY, NOBODY, answer_all, done, error, with};

/// Removes fields that must exist and satisfy the condition.
fn without(mut value: Value, fields: &[&str], is_right: impl Fn(&Value) -> bool) -> Value {
    for field in fields {
        let taken = value.as_object_mut().unwrap().remove(*field);
        assert!(taken.as_ref().is_some_and(&is_right), "{field}: {taken:?}");
    }
    value
}

/// Whether a value has the format `2026-01-02T03:04:05.678Z`.
fn is_time(value: &Value) -> bool {
    let time = value.as_str().unwrap_or_default();
    time.len() == 24
        && time.as_bytes()[10] == b'T'
        && time.as_bytes()[19] == b'.'
        && time.ends_with('Z')
}

/// 1.4
#[tokio::test]
async fn a_relay_is_a_stream_of_data_lines_and_nothing_else() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let request = hub.platform().ask(reqwest::Method::POST, "/api/relay");
    let response = request.json(&relay_to(AMY, "r-1")).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-cache");
    amy.expect(json!({"type": "message", "session_id": "s-1", "request_id": "r-1", "content": "hi", "attachments": []}))
        .await;
    answer_all(&mut amy, "r-1", "yes").await;
    assert_eq!(
        response.text().await.unwrap(),
        "data: {\"type\":\"chunk\",\"delta\":\"yes\"}\n\ndata: {\"type\":\"done\"}\n\n"
    );
}

/// 1.5
#[tokio::test]
async fn an_async_relay_is_accepted_running_and_over() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    let asked = json!({"mode": "async", "callback_url": receiver.url("/back"), "session_title": "A title", "user_message": "hi!"});
    let failure =
        json!({"status": "failed", "error_code": "adapter_crash", "error_message": "it died"});
    for (request, end, over, posted) in [
        (
            "r-1",
            with(done("r-1"), &json!({"result": "yes"})),
            json!({"status": "completed", "result": "yes"}),
            json!({"status": "completed", "result": "yes", "session_key": "s-1", "session_title": "A title", "user_message": "hi!"}),
        ),
        (
            "r-2",
            error("r-2", "adapter_crash", "it died"),
            failure.clone(),
            failure,
        ),
    ] {
        let body = with(relay_to(AMY, request), &asked);
        let (status, accepted) = platform.post("/api/relay", body).await;
        assert_eq!(
            (status, accepted),
            (202, json!({"accepted": true, "request_id": request}))
        );
        amy.expect_message("hi").await;
        let path = format!("/api/task-status?agent_id={AMY}&request_id={request}");
        let (_, running) = platform.get(&path).await;
        assert_eq!(
            without(running, &["started_at"], is_time),
            json!({"request_id": request, "status": "running"})
        );
        amy.send(end).await;
        let mut post = receiver.next().await.body();
        if post["status"] == "completed" {
            post = without(post, &["duration_ms"], Value::is_u64);
        }
        assert_eq!(post, with(json!({"request_id": request}), &posted));
        let (_, shown) = platform.get(&path).await;
        let shown = without(shown, &["duration_ms"], Value::is_u64);
        let shown = without(shown, &["completed_at"], is_time);
        assert_eq!(shown, with(json!({"request_id": request}), &over));
    }
}

/// 1.6 and 1.7
#[tokio::test]
async fn agents_are_shown_found_by_their_token_cancelled_and_cut_off() {
    let hub = TestHub::start().await;
    let mut amy = hub
        .bridge_as(AMY, json!({"token": "ah_xxx", "capabilities": ["sum"]}))
        .await;
    let platform = hub.platform();
    amy.send(json!({"type": "heartbeat", "active_sessions": 3, "uptime_ms": 1}))
        .await;
    amy.expect_no_bridge_frame().await;
    let times = ["connected_at", "last_heartbeat"];
    let path = format!("/api/agents/{AMY}/status");
    let (_, shown) = platform.get(&path).await;
    let known = json!({"online": true, "agent_type": "claude", "capabilities": ["sum"], "active_sessions": 3, "user_id": "local"});
    assert_eq!(without(shown, &times, is_time), known);
    let (status, never) = platform.get(&format!("/api/agents/{NOBODY}/status")).await;
    assert_eq!(status, 200);
    assert_eq!(
        never,
        json!({"online": false, "agent_type": "", "capabilities": [], "connected_at": "", "last_heartbeat": "", "active_sessions": 0, "user_id": ""})
    );

    // The SHA-256 of ah_xxx, which is no existing token.
    let hash = "218832e57be41a23eb861d879f67933c94daed2abfaf9c8faa2455a492a7f89a";
    let found = json!([{"agent_id": AMY, "agent_type": "claude"}]);
    for (hash, agents) in [(hash, found), (&hash[1..], json!([]))] {
        let (status, answer) = platform
            .post("/api/agents-by-token", json!({"token_hash": hash}))
            .await;
        assert_eq!((status, answer), (200, json!({"agents": agents})));
    }

    // Cancels an unknown request.
    let ids = json!({"session_id": "s-9", "request_id": "r-9"});
    let (status, answer) = platform
        .post("/api/cancel", with(json!({"agent_id": AMY}), &ids))
        .await;
    assert_eq!(
        (status, answer),
        (200, with(json!({"success": true}), &ids))
    );

    let mut watch = hub.watch(AMY);
    for was_online in [true, false] {
        let (status, answer) = platform
            .post("/api/disconnect", json!({"agent_id": AMY}))
            .await;
        assert_eq!(
            (status, answer),
            (200, json!({"success": true, "was_online": was_online}))
        );
        if was_online {
            assert_eq!(amy.closed().await.0, 4002);
            watch.until_offline().await;
        }
    }
    // The agent's profile stays, except for its owner.
    let (_, shown) = platform.get(&path).await;
    let left = with(known, &json!({"online": false, "user_id": ""}));
    assert_eq!(without(shown, &times, is_time), left);
}

/// 1.10
#[tokio::test]
async fn signals_are_passed_on_and_fetched() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    let nothing = json!({"ok": true, "signals": []});
    // A poll for an offline agent is no error.
    let poll = json!({"transfer_id": "t", "signal_type": "poll"});
    let (status, answer) = platform
        .post(&format!("/api/rtc-signal/{NOBODY}"), poll.clone())
        .await;
    assert_eq!((status, &answer), (200, &nothing));
    let signal = json!({"transfer_id": "t", "signal_type": "offer", "payload": "v=0", "client_id": "c", "ice_servers": [{"urls": "stun:192.0.2.1"}]});
    let path = format!("/api/rtc-signal/{AMY}");
    assert_eq!(platform.post(&path, signal.clone()).await, (200, nothing));
    let relayed = json!({"type": "rtc_signal_relay", "from_agent_id": "http-caller"});
    amy.expect(with(relayed, &signal)).await;
    amy.send(json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "http-caller", "signal_type": "answer", "payload": "v=1"}))
        .await;
    amy.expect_no_bridge_frame().await;
    let waiting = json!({"ok": true, "signals": [{"signal_type": "answer", "payload": "v=1"}]});
    assert_eq!(platform.post(&path, poll).await, (200, waiting));
}
