//! `/ws`, which two protocols share: whose a connection is, how it is told, and that nothing is lost meanwhile. Raw frames
//! to a real hub on a free port.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod counts;
mod nonsense;
mod places;
mod tokens;
mod ways;

use jackfield_testkit::Raw;
use serde_json::json;

/// What the bridge says to an agent that it takes.
async fn is_taken_by_bridge(raw: &mut Raw) {
    raw.expect(json!({"type": "registered", "status": "ok"}))
        .await;
}

/// What the bridge says to one that it does not take.
async fn is_refused_by_bridge(raw: &mut Raw, error: &str, reason: &str) {
    raw.expect(json!({"type": "registered", "status": "error", "error": error}))
        .await;
    assert_eq!(raw.closed().await, (1008, reason.to_owned()));
}
