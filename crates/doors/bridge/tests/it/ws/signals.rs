//! Signals for an agent that does not read what it is sent.

use jackfield_core::principal::Principal;
use serde_json::json;

use crate::ws::{
    files::{offer, offers},
    harness::*,
};

#[tokio::test]
async fn signals_for_an_agent_that_does_not_read_are_refused_before_they_pile_up() {
    let door = BridgeHub::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    let caller = Principal::local().as_agent("one".parse().unwrap());
    offers(&door, &mut two, "two", &caller, &offer("t", 5)).await;
    let payload = "x".repeat(60_000);
    let signal = json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "two", "signal_type": "offer", "payload": payload});
    let mut sent = 0;
    let error = loop {
        sent += 1;
        assert!(sent < 2000, "120 MB, and nobody says stop");
        one.send(signal.clone()).await;
        if let Some(error) = one.sync().await.pop() {
            break error;
        }
    };
    assert_eq!(
        error,
        json!({
            "type": "error", "code": "agent_busy", "message": "the agent does not read what it is sent; try again later",
            "field": "target_agent_id", "frame_type": "rtc_signal",
        })
    );
    // What was taken arrives, and then there is room again.
    for _ in 1..sent {
        assert_eq!(two.frame().await["type"], "rtc_signal_relay");
    }
    one.send(signal).await;
    assert!(one.sync().await.is_empty());
    assert_eq!(two.frame().await["transfer_id"], "t");
}
