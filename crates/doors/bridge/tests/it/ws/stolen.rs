//! Tokens that are wrong, old or somebody else's: they open nothing, and keep nobody out.

use jackfield_model::{End, Reason};
use serde_json::{Value, json};

use crate::ws::harness::*;

#[tokio::test]
async fn a_wrong_token_is_a_plain_registration_with_nothing_of_before() {
    for wrong in ["", "guess", &"0".repeat(64)] {
        let door = BridgeHub::open().await;
        let (mut old, token) = door.resumable("a").await;
        let replies = door.call("a", "r-1", "hi");
        old.word().await;
        let (mut agent, resumed) = door.resume("a", wrong, open("r-1", 0)).await;
        assert_eq!(resumed["gone"], json!(["r-1"]));
        assert_eq!(resumed.get("open"), None);
        let fresh = resumed["token"].as_str().unwrap();
        assert!(fresh != token && fresh != wrong && fresh.len() == 64);
        assert_eq!(old.closed().await.0, 4001, "the newest wins all the same");
        assert_eq!(failure_of(replies).await, Reason::Offline);
        assert_eq!(agent.sync().await, [] as [Value; 0]);
    }
}

#[tokio::test]
async fn the_token_of_another_agent_opens_nothing_and_disturbs_nobody() {
    let door = BridgeHub::open().await;
    let (mut one, token) = door.resumable("one").await;
    let replies = door.call("one", "r-1", "hi");
    one.word().await;
    let (_two, resumed) = door.resume("two", &token, open("r-1", 0)).await;
    assert_eq!(resumed["gone"], json!(["r-1"]));
    assert_ne!(resumed["token"], json!(token));
    one.send(done("r-1", 1)).await;
    assert_eq!(all_of(replies).await.1, End::done());
}

#[tokio::test]
async fn a_program_that_came_in_between_makes_the_token_worthless() {
    // One with the extension, and one without it.
    for is_resumable in [true, false] {
        let door = BridgeHub::open().await;
        let (agent, token) = door.resumable("a").await;
        drop(agent);
        door.lost("a").await;
        let mut other = if is_resumable {
            door.resumable("a").await.0
        } else {
            door.agent("a").await
        };
        let replies = door.call("a", "r-1", "hi");
        other.word().await;
        let (mut agent, resumed) = door.resume("a", &token, json!([])).await;
        assert_eq!(failure_of(replies).await, Reason::Offline);
        assert_eq!(
            agent.sync().await,
            [] as [Value; 0],
            "the other's message is not run twice"
        );
        assert_ne!(resumed["token"], json!(token));
    }
}

#[tokio::test]
async fn an_agent_that_does_not_announce_the_extension_resumes_nothing() {
    let door = BridgeHub::open().await;
    let (mut old, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    old.word().await;
    let mut agent = door.connect("a").await;
    let mut frame = register("a", &json!(2));
    frame["resume"] = json!({"token": token, "open": open("r-1", 0)});
    agent.send(frame).await;
    assert_eq!(
        agent.frame().await,
        json!({"type": "registered", "status": "ok"})
    );
    assert_eq!(failure_of(replies).await, Reason::Offline);
}

#[tokio::test]
async fn one_who_stays_hears_nothing_of_resuming() {
    let door = BridgeHub::open().await;
    let mut agent = door.connect("a").await;
    agent.send(register_with("a", &Value::Null)).await;
    let registered = agent.frame().await;
    assert_eq!(
        registered["resume"].as_object().unwrap().len(),
        2,
        "token and grace: {registered}"
    );
}
