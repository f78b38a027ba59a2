//! Frames with numbers: acknowledged many at a time, dropped when they come again, missed when they do not come.

use jackfield_core::{principal::Principal, store::TaskState};
use jackfield_model::{End, Event, Reason};
use serde_json::{Value, json};

use crate::ws::harness::*;

#[tokio::test]
async fn a_stream_is_acknowledged_many_frames_at_a_time_and_its_end_at_once() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    let frames = (1..=1000).map(|seq| chunk("r-1", seq, "word "));
    agent.send_all(frames.chain([done("r-1", 1001)])).await;
    let acks = agent.acked("r-1", 1001).await;
    assert!(acks.len() < 100, "{acks:?}");
    let (events, end) = all_of(replies).await;
    let said: String = events.iter().map(text_of).collect();
    assert_eq!((said, end), ("word ".repeat(1000), End::done()));
}

fn text_of(event: &Event) -> &str {
    let Event::Chunk(chunk) = event else {
        panic!("{event:?}")
    };
    &chunk.text
}

#[tokio::test]
async fn a_frame_that_comes_again_is_dropped_and_acknowledged_again() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent
        .send_all([
            chunk("r-1", 1, "one "),
            chunk("r-1", 2, "two "),
            chunk("r-1", 1, "one "),
            chunk("r-1", 2, "two "),
        ])
        .await;
    agent.acked("r-1", 2).await;
    // The agent did not hear it.
    agent.send(chunk("r-1", 1, "one ")).await;
    assert_eq!(agent.frame().await, ack("r-1", 2));
    agent.send(done("r-1", 3)).await;
    agent.acked("r-1", 3).await;
    for frame in [done("r-1", 3), done("r-1", 3), chunk("r-1", 2, "two ")] {
        agent.send(frame).await;
        assert_eq!(agent.frame().await, ack("r-1", 3), "the end is said again");
    }
    let (events, end) = all_of(replies).await;
    assert_eq!((events, end), (vec![Event::text("one two ")], End::done()));
    assert_eq!(door.refused(), 0, "none of it is a mistake");
    assert_eq!(door.metric("jackfield_events_repeated_total"), 3);
}

#[tokio::test]
async fn a_gap_fails_the_call_and_tells_the_agent_why_and_to_stop() {
    let wrong = [
        (json!(3), "must be 2 here, not 3"),
        (json!(0), "must be 2 here, not 0"),
        (Value::Null, "is required"),
    ];
    for frame_type in ["chunk", "artifact", "ask", "done", "error"] {
        for (seq, problem) in &wrong {
            let door = BridgeHub::open().await;
            let (mut agent, _) = door.resumable("a").await;
            let mut replies = door.call("a", "r-1", "hi");
            agent.word().await;
            let mut frame = json!({
                "type": frame_type, "request_id": "r-1", "delta": "x", "artifact_id": "a", "parts": [], "ask_id": "q",
                "kind": "input", "text": "?", "code": "timeout", "message": "late", "seq": seq,
            });
            if frame_type == "chunk" {
                frame["kind"] = json!("status");
            }
            agent.send_all([chunk("r-1", 1, "one"), frame]).await;
            let error = agent.word().await;
            assert_eq!(
                error,
                json!({
                    "type": "error", "code": "invalid_message", "request_id": "r-1", "field": "seq", "frame_type": frame_type,
                    "message": format!("{frame_type}: field \"seq\" {problem}"),
                })
            );
            assert_eq!(
                agent.word().await,
                json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"})
            );
            let End::Failed(failure) = end_of(&mut replies).await else {
                panic!("not failed")
            };
            assert_eq!(failure.reason, Reason::Agent("internal_error".into()));
            assert!(failure.text.contains("seq"), "{failure}");
            assert_eq!(door.refused(), 1);
            // What the agent still says of it is counted and ignored; others go on.
            agent.send(chunk("r-1", 2, "two")).await;
            agent.sync().await;
            assert_eq!(door.refused(), 2);
            let replies = door.call("a", "r-2", "hi");
            assert_eq!(agent.word().await["request_id"], "r-2");
            agent.send(done("r-2", 1)).await;
            assert_eq!(all_of(replies).await.1, End::done());
        }
    }
}

#[tokio::test]
async fn agents_without_the_extension_need_no_numbers_and_get_no_acks() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.frame().await;
    // A number means nothing then.
    agent
        .send_all([chunk("r-1", 7, "one "), chunk("r-1", 7, "two")])
        .await;
    agent
        .send(json!({"type": "done", "request_id": "r-1"}))
        .await;
    assert_eq!(agent.sync().await, [] as [Value; 0]);
    let (events, end) = all_of(replies).await;
    assert_eq!((events, end), (vec![Event::text("one two")], End::done()));
}

#[tokio::test]
async fn what_is_kept_is_acknowledged_when_the_log_has_it() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let task = door
        .hub
        .tasks()
        .start(BridgeHub::request("a", "r-1", "hi"))
        .await;
    let task = task.unwrap();
    agent.word().await;
    agent
        .send_all((1..=20).map(|seq| chunk("r-1", seq, "x")))
        .await;
    agent.acked("r-1", 20).await;
    assert_eq!(task.record().log_end, 21);
    // Sent again, because the agent did not hear it.
    agent.send(chunk("r-1", 20, "x")).await;
    assert_eq!(agent.frame().await, ack("r-1", 20));
    agent.send(done("r-1", 21)).await;
    agent.acked("r-1", 21).await;
    let stored = door.hub.tasks().find(&Principal::local(), task.id).await;
    let stored = stored.unwrap().record();
    assert_eq!((stored.state, stored.log_end), (TaskState::Completed, 22));
    agent.send(done("r-1", 21)).await;
    assert_eq!(agent.frame().await, ack("r-1", 21));
    assert_eq!(door.refused(), 0);
}

#[tokio::test]
async fn an_end_that_crosses_a_cancel_is_counted_and_the_cancel_lets_the_agent_forget_it() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let task = door
        .hub
        .tasks()
        .start(BridgeHub::request("a", "r-1", "hi"))
        .await;
    agent.word().await;
    let owner = Principal::local();
    let cancelled = door.hub.tasks().cancel(&owner, task.unwrap().id).await;
    cancelled.unwrap();
    agent.is_written_to().await;
    agent.send(done("r-1", 1)).await;
    let cancel = json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"});
    assert_eq!(agent.sync().await, [cancel]);
    assert_eq!(door.refused(), 1);
}

#[tokio::test]
async fn a_request_id_that_is_used_again_counts_from_one() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    for round in 0..3 {
        let replies = door.call("a", "r-1", "hi");
        assert_eq!(agent.word().await["type"], "message", "{round}");
        agent
            .send_all([chunk("r-1", 1, "one"), done("r-1", 2)])
            .await;
        agent.acked("r-1", 2).await;
        let (events, end) = all_of(replies).await;
        assert_eq!((events, end), (vec![Event::text("one")], End::done()));
    }
}
