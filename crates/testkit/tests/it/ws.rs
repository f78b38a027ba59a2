//! `/ws`, shared by two protocols: how a connection's protocol is detected, without losing a frame. Raw frames to a
//! real hub on a free port.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod counts;
mod nonsense;
mod places;
mod tickets;
mod tokens;
mod ways;

use jackfield_testkit::Raw;
use serde_json::json;

/// Reads the bridge's acceptance.
async fn is_taken_by_bridge(raw: &mut Raw) {
    raw.expect(json!({"type": "registered", "status": "ok"}))
        .await;
}

/// Reads the bridge's refusal.
async fn is_refused_by_bridge(raw: &mut Raw, error: &str, reason: &str) {
    raw.expect(json!({"type": "registered", "status": "error", "error": error}))
        .await;
    assert_eq!(raw.closed().await, (1008, reason.to_owned()));
}
