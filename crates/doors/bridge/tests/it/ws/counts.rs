//! What an agent should not send is counted and ignored, and a call that hangs ends whatever the agent says.

use jackfield_core::{limits::Limits, units::Span};
use jackfield_model::{End, Event, Reason};
use serde_json::json;
use tokio::time::{Duration, interval};

use crate::ws::harness::*;

#[tokio::test]
async fn frames_about_requests_that_are_not_the_agents_are_counted_and_ignored() {
    let door = BridgeHub::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    let replies = door.call("one", "r-1", "hi");
    one.frame().await;
    let frame = |kind: &str, delta: &str| json!({"type": kind, "request_id": "r-1", "delta": delta, "code": "c", "message": "m"});
    // Not this agent's.
    for kind in ["chunk", "done", "error"] {
        two.send(frame(kind, "injected")).await;
    }
    two.sync().await;
    assert_eq!(door.refused(), 3);
    one.send_all([
        frame("chunk", "mine"),
        frame("done", ""),
        // Ended already.
        frame("done", ""),
        frame("chunk", "late"),
        frame("error", ""),
    ])
    .await;
    one.sync().await;
    assert_eq!(door.refused(), 6);
    let (events, end) = all_of(replies).await;
    assert_eq!((events, end), (vec![Event::text("mine")], End::done()));
}

#[tokio::test]
async fn numbered_frames_about_requests_that_were_never_the_agents_are_counted_too() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    agent
        .send_all([chunk("r-9", 1, "x"), done("r-9", 2), done("r-9", 2)])
        .await;
    assert!(agent.sync().await.is_empty(), "and not acknowledged");
    assert_eq!(door.refused(), 3);
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent
        .send_all([done("r-1", 1), chunk("r-1", 2, "late")])
        .await;
    agent.sync().await;
    assert_eq!(door.refused(), 4, "nothing comes after an end");
    assert_eq!(all_of(replies).await, (vec![], End::done()));
}

#[tokio::test]
async fn a_heartbeat_keeps_no_call_alive_past_its_limit() {
    let door = BridgeHub::open_with(Limits {
        idle_live: Span::millis(500),
        absolute_live: Span::millis(1500),
        ..Limits::default()
    })
    .await;
    let (one, (two, _)) = (door.agent("one").await, door.resumable("two").await);
    tokio::join!(hang(&door, "one", one), hang(&door, "two", two));
}

/// An agent that says that it is alive, and nothing else.
async fn hang(door: &BridgeHub, id: &str, mut agent: Agent) {
    let mut replies = door.call(id, "r-1", "hi");
    agent.word().await;
    let mut beats = interval(Duration::from_millis(100));
    let cancel = loop {
        tokio::select! {
            _ = beats.tick() => agent.send(json!({"type": "heartbeat", "active_sessions": 1, "uptime_ms": 1})).await,
            frame = agent.frame() => break frame,
        }
    };
    assert_eq!(
        cancel,
        json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"})
    );
    let End::Failed(failure) = end_of(&mut replies).await else {
        panic!("not failed")
    };
    assert_eq!(failure.reason, Reason::Timeout);
    assert!(
        failure.text.contains("its limit"),
        "not for silence: {failure}"
    );
}
