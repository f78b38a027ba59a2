//! The pause between two requests of a session, on a clock that the test owns, and what an empty answer right after it is.

use std::time::Duration;

use jackfield_bridge::BridgeLimits;
use jackfield_model::{End, Reason, SessionId};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use crate::ws::harness::*;

fn pause() -> Duration {
    BridgeLimits::default().session_pause.0
}

fn said(request: &str, result: &str) -> Value {
    json!({"type": "done", "request_id": request, "result": result})
}

/// An agent that has just answered `r-1` while `r-2` of the same session waits.
async fn between_two(door: &BridgeHub) -> (Agent, jackfield_core::call::Replies) {
    let mut agent = door.agent("a").await;
    let first = door.call("a", "r-1", "one");
    assert_eq!(agent.frame().await["request_id"], "r-1");
    let second = door.call("a", "r-2", "two");
    agent.send(said("r-1", "uno")).await;
    assert!(matches!(all_of(first).await.1, End::Done(_)));
    (agent, second)
}

#[tokio::test(start_paused = true)]
async fn the_next_request_of_a_session_comes_after_a_pause() {
    let door = BridgeHub::open().await;
    let (mut agent, second) = between_two(&door).await;
    let start = Instant::now();
    assert_eq!(agent.frame().await["request_id"], "r-2");
    let waited = start.elapsed();
    let too_long = pause() + Duration::from_millis(50);
    assert!((pause()..too_long).contains(&waited), "{waited:?}");
    agent.send(said("r-2", "due")).await;
    assert!(matches!(all_of(second).await.1, End::Done(_)));
}

#[tokio::test(start_paused = true)]
async fn a_request_of_another_session_does_not_wait_nor_does_one_after_a_longer_silence() {
    let door = BridgeHub::open().await;
    let (mut agent, _second) = between_two(&door).await;
    let start = Instant::now();
    let mut other = BridgeHub::request("a", "r-3", "three");
    other.session = Some(SessionId::parse("s-2").unwrap());
    let _third = door.hub.calls().open(other).unwrap();
    assert_eq!(agent.frame().await["request_id"], "r-3");
    assert!(start.elapsed() < pause(), "{:?}", start.elapsed());
    assert_eq!(agent.frame().await["request_id"], "r-2");
    agent.send(said("r-2", "due")).await;
    agent.sync().await;
    advance(pause()).await;
    let start = Instant::now();
    let _fourth = door.call("a", "r-4", "four");
    assert_eq!(agent.frame().await["request_id"], "r-4");
    assert!(start.elapsed() < pause(), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_announced_meta_gets_its_requests_at_once() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    for request in ["r-1", "r-2"] {
        let start = Instant::now();
        let replies = door.call("a", request, "hi");
        assert_eq!(agent.word().await["request_id"], request);
        assert!(start.elapsed() < pause(), "{:?}", start.elapsed());
        // Also one that has nothing to say, right after another: it has one program for all requests.
        agent.send(done(request, 1)).await;
        assert!(matches!(all_of(replies).await.1, End::Done(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_done_without_a_word_right_after_the_request_before_is_no_success() {
    let door = BridgeHub::open().await;
    let (mut agent, second) = between_two(&door).await;
    assert_eq!(agent.frame().await["request_id"], "r-2");
    agent.send(said("r-2", "")).await;
    let (events, end) = all_of(second).await;
    let End::Failed(failure) = end else {
        panic!("{end:?}")
    };
    assert_eq!((events.len(), &failure.reason), (0, &Reason::Crashed));
    assert!(failure.text.contains("send this one again"), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_done_that_follows_a_word_or_comes_later_is_what_the_agent_says() {
    let door = BridgeHub::open().await;
    let (mut agent, second) = between_two(&door).await;
    assert_eq!(agent.frame().await["request_id"], "r-2");
    agent
        .send(json!({"type": "chunk", "request_id": "r-2", "delta": "due"}))
        .await;
    agent.send(said("r-2", "")).await;
    assert!(matches!(all_of(second).await.1, End::Done(_)));
    let third = door.call("a", "r-3", "three");
    assert_eq!(agent.frame().await["request_id"], "r-3");
    advance(pause()).await;
    agent.send(said("r-3", "")).await;
    assert!(matches!(all_of(third).await.1, End::Done(_)));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_during_the_pause_never_reaches_the_agent() {
    let door = BridgeHub::open().await;
    let (mut agent, second) = between_two(&door).await;
    drop(second);
    let start = Instant::now();
    let _third = door.call("a", "r-3", "three");
    assert_eq!(agent.frame().await["request_id"], "r-3");
    assert!(start.elapsed() >= pause(), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_leaves_during_the_pause_fails_the_request_that_waits() {
    let door = BridgeHub::open().await;
    let (agent, second) = between_two(&door).await;
    drop(agent);
    assert_eq!(failure_of(second).await, Reason::Offline);
}
