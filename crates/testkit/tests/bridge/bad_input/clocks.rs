//! Calls that hang, however lively their agents are.

use jackfield_core::units::Span;
use jackfield_testkit::{Raw, TestHub, relay_to};
use serde_json::json;

use crate::{AMY, failed};

/// Limits that do not take a day. Agents are pinged so often that a test can live by it.
async fn impatient_hub() -> TestHub {
    TestHub::start_with(|config| {
        let limits = &mut config.limits;
        limits.ping = Span::millis(100);
        (limits.idle_live, limits.idle_kept) = (Span::secs(1), Span::secs(1));
        (limits.absolute_live, limits.absolute_kept) = (Span::secs(3), Span::secs(3));
    })
    .await
}

/// Answers each ping of the hub with a heartbeat and nothing else, until it is told to stop.
async fn beat_until_cancelled(agent: &mut Raw) {
    let cancel = json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"});
    loop {
        match agent.pinged_or_frame().await {
            None => {
                let beat = json!({"type": "heartbeat", "active_sessions": 1, "uptime_ms": 1});
                agent.send(beat).await;
            }
            Some(frame) => return assert_eq!(frame, cancel),
        }
    }
}

#[tokio::test]
async fn a_heartbeat_keeps_a_call_alive_but_not_past_its_absolute_limit() {
    let hub = impatient_hub().await;
    let mut amy = hub.bridge(AMY).await;
    let live = relay_to(AMY, "r-1");
    let mut kept = live.clone();
    kept["keep"] = true.into();
    for body in [live, kept] {
        let mut events = hub.platform().stream("/api/relay", body).await;
        amy.expect_message("hi").await;
        beat_until_cancelled(&mut amy).await;
        let mut heard = events.rest().await;
        // Longer than the agent may be silent.
        let over = failed("timeout", "the call lasted 3 seconds, its limit");
        assert_eq!(heard.pop(), Some(over));
        assert!(
            heard.iter().all(|it| it["type"] == "keepalive"),
            "{heard:?}"
        );
    }
    // The agent works on.
    let _events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
}
