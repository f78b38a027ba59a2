//! Timeouts of stuck calls with lively agents.

use std::time::Duration;

use jackfield_core::units::Span;
use jackfield_testkit::{Raw, TestHub, relay_to};
use serde_json::json;

use crate::bridge::{AMY, failed, with};

/// Heartbeat interval, far shorter than required.
const BEAT: Duration = Duration::from_millis(250);

/// Sends heartbeats at a fixed interval, like the published client, and nothing else.
async fn beat(agent: &mut Raw) {
    let mut clock = tokio::time::interval(BEAT);
    loop {
        clock.tick().await;
        let beat = json!({"type": "heartbeat", "active_sessions": 1, "uptime_ms": 1});
        agent.send(beat).await;
    }
}

#[tokio::test]
async fn a_heartbeat_keeps_a_call_alive_but_not_past_its_absolute_limit() {
    let hub = TestHub::start_with(|config| {
        let limits = &mut config.limits;
        (limits.idle_live, limits.idle_kept) = (Span::secs(3), Span::secs(3));
        (limits.absolute_live, limits.absolute_kept) = (Span::secs(5), Span::secs(5));
    })
    .await;
    let platform = hub.platform();
    let mut amy = hub.bridge(AMY).await;
    let kept = json!({"session_id": "s-2", "keep": true});
    let mut live = platform.relay(AMY, "r-1").await;
    let kept = with(relay_to(AMY, "r-2"), &kept);
    let mut kept = platform.stream("/api/relay", kept).await;
    amy.expect_message("hi").await;
    amy.expect_message("hi").await;
    let ends = async { [live.rest().await, kept.rest().await] };
    let ends = tokio::select! {
        ends = ends => ends,
        () = beat(&mut amy) => unreachable!("it beats for ever"),
    };
    for mut ends in ends {
        // Longer than the agent's silence limit.
        let over = failed("timeout", "the call lasted 5 seconds, its limit");
        assert_eq!(ends.pop(), Some(over));
        let is_alive = |event: &serde_json::Value| *event == json!({"type": "keepalive"});
        assert!(ends.iter().all(is_alive), "{ends:?}");
    }
    // The agent is told, and stays usable.
    let mut frames = [amy.frame().await, amy.frame().await];
    frames.sort_by_key(ToString::to_string);
    assert_eq!(
        frames,
        [
            json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"}),
            json!({"type": "cancel", "session_id": "s-2", "request_id": "r-2"}),
        ]
    );
    let _events = platform.relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
}
