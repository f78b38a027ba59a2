//! Agents of several owners: invisible to each other until shared. A receiver can always answer its
//! sender.

use jackfield_core::{agent::Share, principal::Principal};
use jackfield_model::{AgentId, Owner};
use jackfield_testkit::{Raw, TestHub};
use serde_json::json;

struct Owners {
    hub: TestHub,
    anns: Raw,
    bobs: Raw,
}

impl Owners {
    async fn meet() -> Self {
        let hub = TestHub::start().await;
        let ann = hub.token("ann", &["agent:*"]).await;
        let bob = hub.token("bob", &["agent:*"]).await;
        let anns = hub.agora_of(&ann, "anns").await;
        let bobs = hub.agora_of(&bob, "bobs").await;
        Self { hub, anns, bobs }
    }

    fn share_bobs(&self, share: Share) {
        let id = AgentId::parse("bobs").unwrap();
        let admin = Principal::local();
        let changed = self
            .hub
            .hub()
            .agents()
            .change(&admin, &id, Some(share), None);
        drop(changed.unwrap());
    }
}

async fn listed(raw: &mut Raw) -> Vec<String> {
    raw.send(json!({"type": "list"})).await;
    let list = raw.frame().await;
    let agents = list["agents"].as_array().unwrap();
    agents
        .iter()
        .map(|agent| agent["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn whoever_shows_a_token_that_is_not_known_here_is_told_why_an_id_is_somebody_elses() {
    let owners = Owners::meet().await;
    for (token, is_told) in [(Some("jf_of_another_hub"), true), (None, false)] {
        let mut raw = owners.hub.connect().await;
        raw.send(json!({"type": "register", "id": "anns", "token": token}))
            .await;
        let text = raw
            .expect_error(json!({"code": "unauthorized", "frame_type": "register", "field": "id"}))
            .await;
        assert!(text.contains("belongs to another owner"), "{text}");
        let says_why = text.contains("this hub does not know the token");
        assert_eq!(says_why, is_told, "{text}");
    }
}

#[tokio::test]
async fn agents_of_others_are_invisible_until_shared() {
    let mut owners = Owners::meet().await;
    let mut local = owners.hub.agora("local-1").await;
    assert_eq!(listed(&mut owners.anns).await, ["anns"]);
    // An agent is no administrator, even if its owner is.
    assert_eq!(listed(&mut local).await, ["local-1"]);
    owners.share_bobs(Share::With(vec![Owner::parse("ann").unwrap()]));
    assert_eq!(listed(&mut owners.anns).await, ["anns", "bobs"]);
    assert_eq!(listed(&mut local).await, ["local-1"]);
    owners.share_bobs(Share::Everyone);
    assert_eq!(listed(&mut local).await, ["bobs", "local-1"]);
}

#[tokio::test]
async fn a_shared_agent_answers_whoever_wrote_but_writes_to_nobody_of_its_own_accord() {
    let Owners {
        hub: _hub,
        mut anns,
        mut bobs,
    } = {
        let owners = Owners::meet().await;
        owners.share_bobs(Share::Everyone);
        owners
    };
    let refused = |kind: &str| json!({"code": "not_found", "to": "anns", "stream_id": "s", "frame_type": kind, "field": "to"});
    for kind in ["send", "reply"] {
        bobs.send(json!({"type": kind, "to": "anns", "stream_id": "s"}))
            .await;
        bobs.expect_error(refused(kind)).await;
    }
    anns.send(json!({"type": "send", "to": "bobs", "stream": true, "stream_id": "s"}))
        .await;
    bobs.frame().await;
    for (up, down) in [
        (
            json!({"type": "reply", "to": "anns", "stream": true, "stream_id": "s"}),
            json!({"type": "reply", "from": "bobs", "stream": true, "stream_id": "s"}),
        ),
        (
            json!({"type": "reply_chunk", "to": "anns", "stream_id": "s", "chunk": "yes"}),
            json!({"type": "reply_chunk", "from": "bobs", "stream_id": "s", "chunk": "yes"}),
        ),
        (
            json!({"type": "error", "to": "anns", "stream_id": "s", "code": "c", "message": "m"}),
            json!({"type": "error", "from": "bobs", "stream_id": "s", "code": "c", "message": "m"}),
        ),
    ] {
        bobs.send(up).await;
        anns.expect(down).await;
    }
    bobs.send(json!({"type": "send", "to": "anns", "stream_id": "s"}))
        .await;
    bobs.expect_error(refused("send")).await;
    // Answering is still possible.
    bobs.send(json!({"type": "reply", "to": "anns", "payload": 1}))
        .await;
    anns.expect(json!({"type": "reply", "from": "bobs", "payload": 1}))
        .await;
    anns.close().await;
    bobs.expect_error(json!({"code": "offline", "from": "anns", "stream_id": "s"}))
        .await;
}

#[tokio::test]
async fn unsharing_stops_a_way_that_is_open() {
    let mut owners = Owners::meet().await;
    owners.share_bobs(Share::Everyone);
    let chunk = json!({"type": "send_chunk", "to": "bobs", "stream_id": "s", "chunk": "x"});
    owners
        .anns
        .send(json!({"type": "send", "to": "bobs", "stream": true, "stream_id": "s"}))
        .await;
    owners.anns.send(chunk.clone()).await;
    owners.bobs.frame().await;
    owners.bobs.frame().await;
    owners.share_bobs(Share::Nobody);
    owners.anns.send(chunk).await;
    owners
        .anns
        .expect_error(json!({"code": "not_found", "to": "bobs", "stream_id": "s", "frame_type": "send_chunk", "field": "to"}))
        .await;
    // The receiver is told that the stream is aborted.
    owners
        .bobs
        .expect_error(json!({"code": "offline", "from": "anns", "stream_id": "s"}))
        .await;
    owners.bobs.expect_nothing().await;
}

#[tokio::test]
async fn an_agent_that_is_removed_is_told_4002() {
    let mut owners = Owners::meet().await;
    let id = AgentId::parse("bobs").unwrap();
    let removed = owners.hub.hub().agents().forget(&Principal::local(), &id);
    removed.unwrap().await.unwrap();
    assert_eq!(owners.bobs.closed().await.0, 4002);
}
