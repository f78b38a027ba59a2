//! How long the hub waits for an agent that was cut off, and what becomes of everything when it does not come back.

use std::sync::Arc;

use jackfield_core::{
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
    units::Span,
};
use jackfield_model::{End, Owner, Reason, TokenId};
use serde_json::{Value, json};

use crate::ws::harness::*;

fn impatient() -> Limits {
    Limits {
        resume_grace: Span::millis(300),
        ..Limits::default()
    }
}

#[tokio::test]
async fn after_the_grace_what_was_open_fails_and_what_the_agent_called_is_cancelled() {
    let door = BridgeHub::open_with(impatient()).await;
    let (mut agent, token) = door.resumable("a").await;
    let mut other = door.agent("b").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent
        .send(json!({"type": "call_agent", "target_agent_id": "b", "task_description": "x", "call_id": "c-1"}))
        .await;
    assert_eq!(other.frame().await["request_id"], "c-1");
    drop(agent);
    door.lost("a").await;
    let waiting = door.call("a", "r-2", "came during the cut");
    assert_eq!(
        (failure_of(replies).await, failure_of(waiting).await),
        (Reason::Offline, Reason::Offline)
    );
    let cancel = other.frame().await;
    assert_eq!(
        (&cancel["type"], &cancel["request_id"]),
        (&json!("cancel"), &json!("c-1"))
    );
    let resume =
        json!({"token": token, "open": open("r-1", 0), "calls": [{"call_id": "c-1", "got": 0}]});
    let (mut agent, resumed) = door.come_back("a", resume).await;
    assert_eq!(
        (&resumed["token"], &resumed["gone"]),
        (&json!(token), &json!(["r-1"])),
        "it comes too late, and is welcome all the same"
    );
    let error = agent.word().await;
    assert_eq!(
        (&error["type"], &error["call_id"], &error["code"]),
        (
            &json!("call_agent_error"),
            &json!("c-1"),
            &json!("session_not_found")
        )
    );
}

#[tokio::test]
async fn an_agent_that_was_told_to_stay_away_is_not_waited_for() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    drop(
        door.hub
            .agents()
            .forget(&Principal::local(), &"a".parse().unwrap()),
    );
    assert_eq!(agent.closed().await.0, 4002);
    assert_eq!(failure_of(replies).await, Reason::Offline);
}

#[tokio::test]
async fn an_agent_that_breaks_the_rules_is_not_waited_for() {
    let door = BridgeHub::open_with(Limits {
        resume_grace: Span::secs(3600),
        frame: jackfield_core::units::Size::kib(64),
        ..Limits::default()
    })
    .await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    agent.send(chunk("r-1", 1, &"x".repeat(1 << 17))).await;
    assert_eq!(agent.closed().await.0, 1009);
    let own = Reason::Agent("internal_error".into());
    assert_eq!(
        failure_of(replies).await,
        own,
        "the caller hears of the frame"
    );
}

/// Hubs that know their owners by tokens.
async fn with_tokens(limits: Limits) -> BridgeHub {
    BridgeHub::open_on(Arc::new(MemoryStore::default()), limits, false).await
}

async fn token_of(door: &BridgeHub, owner: &str) -> (TokenId, String) {
    let scopes = Scopes::parse(["agent:*", "call:*"]).unwrap();
    let owner = Owner::parse(owner).unwrap();
    let made = door.hub.tokens().create("t".into(), owner, &scopes, None);
    let made = made.await.unwrap();
    (made.record.id, made.secret)
}

async fn come(door: &BridgeHub, id: &str, secret: &str, resume: &Value) -> (Agent, Value) {
    let mut agent = door.connect(id).await;
    let mut frame = register_with(id, resume);
    frame["token"] = json!(secret);
    agent.send(frame).await;
    let registered = agent.frame().await;
    (agent, registered)
}

#[tokio::test]
async fn a_token_that_is_revoked_during_the_cut_ends_everything_at_once() {
    let door = with_tokens(Limits {
        resume_grace: Span::secs(3600),
        ..Limits::default()
    })
    .await;
    let (id, secret) = token_of(&door, "ann").await;
    let (_, others) = token_of(&door, "ann").await;
    let (mut agent, registered) = come(&door, "a", &secret, &Value::Null).await;
    let token = registered["resume"]["token"].clone();
    let (mut other, _) = come(&door, "b", &others, &Value::Null).await;
    let mut asked = BridgeHub::request("a", "r-1", "hi");
    asked.principal.owner = Owner::parse("ann").unwrap();
    let replies = door.hub.calls().open(asked).unwrap().replies();
    agent.word().await;
    agent
        .send(json!({"type": "call_agent", "target_agent_id": "b", "task_description": "x", "call_id": "c-1"}))
        .await;
    assert_eq!(other.word().await["request_id"], "c-1");
    drop(agent);
    let entry = door
        .hub
        .agents()
        .find(&replies.asking().call().principal, "a");
    let entry = entry.unwrap();
    until(|| entry.link().is_none()).await;
    assert!(!replies.asking().call().is_ended());
    door.hub.tokens().revoke(id).await.unwrap();
    assert_eq!(failure_of(replies).await, Reason::Offline);
    assert_eq!(other.word().await["type"], "cancel");
    let resume = json!({"token": token, "open": open("r-1", 0)});
    let (mut agent, refused) = come(&door, "a", &secret, &resume).await;
    assert_eq!(
        refused,
        json!({"type": "registered", "status": "error", "error": "Authentication failed"})
    );
    assert_eq!(agent.closed().await, (1008, "Auth failed".to_owned()));
}

#[tokio::test]
async fn a_hub_that_stops_during_the_cut_fails_live_calls_and_stops() {
    let door = BridgeHub::open_with(Limits {
        resume_grace: Span::secs(3600),
        ..Limits::default()
    })
    .await;
    let (mut agent, _) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    drop(agent);
    door.lost("a").await;
    // Well before anybody would have to be killed.
    soon(door.stop()).await;
    assert_eq!(failure_of(replies).await, Reason::Stopping);
}

#[tokio::test]
async fn calls_to_an_agent_that_was_cut_off_wait_for_it() {
    let door = BridgeHub::open().await;
    let (agent, token) = door.resumable("a").await;
    drop(agent);
    door.lost("a").await;
    let replies = door.call("a", "r-1", "hi");
    let (mut agent, _) = door.resume("a", &token, json!([])).await;
    assert_eq!(agent.word().await["content"], "hi");
    agent.send(done("r-1", 1)).await;
    assert_eq!(all_of(replies).await.1, End::done());
}

#[tokio::test]
async fn a_connection_that_comes_and_goes_often_is_no_fight_for_the_id() {
    let door = BridgeHub::open().await;
    let (mut agent, token) = door.resumable("a").await;
    let replies = door.call("a", "r-1", "hi");
    agent.word().await;
    for _ in 0..12 {
        // The one before is still open.
        let (next, resumed) = door.resume("a", &token, open("r-1", 0)).await;
        assert_eq!(resumed["open"][0]["have"], 0);
        assert_eq!(std::mem::replace(&mut agent, next).closed().await.0, 4001);
    }
    agent.send(done("r-1", 1)).await;
    assert_eq!(all_of(replies).await.1, End::done());
}
