//! First frames that match no protocol, and no first frame at all.

use std::time::Instant;

use jackfield_core::units::Span;
use jackfield_testkit::{SOON, TestHub, bridge_register};
use serde_json::json;

use super::is_refused_by_bridge;

const TEXT: u8 = 1;
const LAST: u8 = 0x80;

#[tokio::test]
async fn nonsense_gets_agoras_clear_errors_and_may_be_mended() {
    let hub = TestHub::start().await;
    let no_id = json!({"code": "invalid", "frame_type": "register", "field": "id"});
    let twice = r#"{"type":"register","agent_id":"a","agent_id":"b","bridge_version":"2"}"#;
    let deep = format!(
        r#"{{"type":"register","agent_id":{}{}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let table = [
        ("", json!({"code": "invalid"})),
        ("hello", json!({"code": "invalid"})),
        ("{", json!({"code": "invalid"})),
        ("[]", json!({"code": "invalid"})),
        ("{}", json!({"code": "invalid", "field": "type"})),
        (
            r#"{"type":7,"agent_id":"a"}"#,
            json!({"code": "invalid", "field": "type"}),
        ),
        (
            r#"{"type":"heartbeat"}"#,
            json!({"code": "unsupported", "frame_type": "heartbeat", "field": "type"}),
        ),
        (r#"{"type":"register"}"#, no_id.clone()),
        (r#"{"type":"register","agent_id":null}"#, no_id.clone()),
        (twice, no_id.clone()),
    ];
    for (number, (first, error)) in table.into_iter().enumerate() {
        let mut raw = hub.connect().await;
        raw.send_text(first).await;
        raw.expect_error(error).await;
        // The first frame decided: from here on the connection is Agora.
        raw.send(bridge_register("late")).await;
        raw.expect_error(no_id.clone()).await;
        raw.register(&format!("a{number}")).await;
    }
    // The frame begins like a bridge frame, so the bridge reports the error.
    let mut raw = hub.connect().await;
    raw.send_text(deep).await;
    let error = r#"register: field "agent_id" is nested deeper than 64 levels"#;
    is_refused_by_bridge(&mut raw, error, "Invalid register").await;
}

#[tokio::test]
async fn a_binary_first_frame_is_answered_in_the_protocols_own_way() {
    let hub = TestHub::start().await;
    let register = bridge_register("a").to_string();
    let mut raw = hub.connect().await;
    raw.send_binary(register.as_bytes()).await;
    raw.expect_error(json!({"code": "unsupported"})).await;
    raw.register("a").await;
    let mut raw = hub.connect_bridge("b").await;
    raw.send_binary(&[0xff]).await;
    let why = "binary frame; send JSON as a text frame";
    raw.expect(json!({"type": "error", "code": "invalid_message", "message": why}))
        .await;
    raw.send(bridge_register("b")).await;
    raw.expect(json!({"type": "registered", "status": "ok"}))
        .await;
}

#[tokio::test]
async fn a_first_frame_over_64_kib_closes_with_1009() {
    let hub = TestHub::start().await;
    let mut large = bridge_register("a");
    large["pad"] = json!("x".repeat(64 << 10));
    let large = large.to_string();
    let mut raw = hub.connect().await;
    raw.send_raw(LAST | TEXT, large.as_bytes()).await;
    raw.expect_error(json!({"code": "too_large"})).await;
    assert_eq!(raw.closed().await.0, 1009);
    let mut raw = hub.connect_bridge("a").await;
    raw.send_raw(LAST | TEXT, large.as_bytes()).await;
    assert_eq!(raw.closed().await.0, 1009);
}

#[tokio::test]
async fn a_first_text_that_is_not_utf8_closes_with_1007() {
    let hub = TestHub::start().await;
    for mut raw in [hub.connect().await, hub.connect_bridge("a").await] {
        raw.send_raw(
            LAST | TEXT,
            b"{\"type\":\"register\",\"agent_id\":\"\xff\"}",
        )
        .await;
        assert_eq!(raw.closed().await.0, 1007);
    }
}

#[tokio::test]
async fn who_says_nothing_is_closed_after_the_time_to_register() {
    let hub = TestHub::start_with(|config| config.limits.register = Span::millis(200)).await;
    for mut raw in [hub.connect().await, hub.connect_bridge("a").await] {
        assert_eq!(raw.closed().await, (1008, "register timeout".to_owned()));
    }
}

#[tokio::test]
async fn who_only_lists_is_closed_after_the_longest_time_without_register() {
    let hub = TestHub::start_with(|config| {
        config.limits.register = Span::millis(500);
        config.limits.register_latest = Span::millis(1500);
    })
    .await;
    let mut raw = hub.connect().await;
    let begun = Instant::now();
    while raw.maybe_send_text(r#"{"type":"list"}"#).await && raw.maybe_text().await.is_some() {
        assert!(begun.elapsed() < SOON, "list keeps a connection");
    }
}
