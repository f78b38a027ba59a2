//! Forbidden actions: using another's id, no registration, answering for others, using a revoked token.

use jackfield_core::call::Reply;
use jackfield_model::{End, Event};
use jackfield_testkit::{Raw, TestHub, fake_request};
use serde_json::json;

use super::Bystanders;

#[tokio::test]
async fn ids_outside_the_alphabet_and_call_addresses_are_refused() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.connect().await;
    let long = "x".repeat(129);
    for id in [
        "", " ", "a b", "-a", ".a", "a/b", "a\u{0}", "é", "a\n", &long, "call:1", "call:",
    ] {
        raw.send(json!({"type": "register", "id": id})).await;
        raw.expect_error(json!({"code": "invalid", "frame_type": "register", "field": "id"}))
            .await;
    }
    // The same connection may retry with a valid id.
    raw.register(&"x".repeat(128)).await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn profiles_have_a_size() {
    let hub = TestHub::start().await;
    let mut raw = hub.connect().await;
    let long = "x".repeat(4097);
    for field in ["name", "description", "agent_type", "endpoint"] {
        raw.send(json!({"type": "register", "id": "a", field: long}))
            .await;
        raw.expect_error(json!({"code": "too_large", "frame_type": "register", "field": field}))
            .await;
    }
    for capabilities in [json!([long]), json!(vec!["x"; 257])] {
        raw.send(json!({"type": "register", "id": "a", "capabilities": capabilities}))
            .await;
        raw.expect_error(
            json!({"code": "too_large", "frame_type": "register", "field": "capabilities"}),
        )
        .await;
    }
    raw.register("a").await;
}

#[tokio::test]
async fn a_connection_is_one_agent() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    for id in ["another", "by-1"] {
        raw.send(json!({"type": "register", "id": id})).await;
        raw.expect_error(json!({"code": "conflict", "frame_type": "register", "field": "id"}))
            .await;
    }
    raw.send(json!({"type": "send", "to": "bad", "payload": 1}))
        .await;
    raw.expect(json!({"type": "message", "from": "bad", "payload": 1}))
        .await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn nobody_sends_before_register() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.connect().await;
    for kind in [
        "send",
        "send_chunk",
        "send_end",
        "reply",
        "reply_chunk",
        "reply_end",
        "cancel",
    ] {
        raw.send(json!({"type": kind, "to": "by-1", "stream_id": "s", "chunk": "x"}))
            .await;
        raw.expect_error(
            json!({"code": "unauthorized", "frame_type": kind, "to": "by-1", "stream_id": "s"}),
        )
        .await;
    }
    raw.expect_nothing().await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn an_id_is_its_owners_even_while_it_is_offline() {
    let hub = TestHub::start().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let mut watching = crate::agora::watch(&hub, "hers");
    let mut hers = hub.agora_of(&ann, "hers").await;
    let refused = json!({"code": "unauthorized", "frame_type": "register", "field": "id"});
    for _ in 0..2 {
        for token in [Some(&bob), None] {
            let mut raw = hub.connect().await;
            raw.send(json!({"type": "register", "id": "hers", "token": token}))
                .await;
            raw.expect_error(refused.clone()).await;
        }
        hers.expect_nothing().await;
        hers.close().await;
        crate::agora::until_offline(&mut watching).await;
        hers = hub.agora_of(&ann, "hers").await;
    }
}

#[tokio::test]
async fn a_token_registers_only_what_its_scopes_name() {
    let hub = TestHub::start().await;
    let token = hub.token("ann", &["agent:lab-*"]).await;
    let mut raw = hub.connect().await;
    raw.send(json!({"type": "register", "id": "office-1", "token": token}))
        .await;
    raw.expect_error(json!({"code": "unauthorized", "frame_type": "register", "field": "id"}))
        .await;
    raw.send(json!({"type": "register", "id": "lab-1", "token": token}))
        .await;
    raw.expect(json!({"type": "registered", "id": "lab-1"}))
        .await;
}

#[tokio::test]
async fn beyond_loopback_only_a_known_token_is_somebody() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let token = hub.token("ann", &["agent:*"]).await;
    let refused = json!({"code": "unauthorized", "frame_type": "register", "field": "token"});
    let mut raw = hub.connect().await;
    for wrong in [None, Some(""), Some("jf_guess")] {
        raw.send(json!({"type": "register", "id": "a", "token": wrong}))
            .await;
        raw.expect_error(refused.clone()).await;
    }
    raw.send(json!({"type": "list"})).await;
    raw.expect_error(json!({"code": "unauthorized", "frame_type": "list"}))
        .await;
    raw.send(json!({"type": "send", "to": "a"})).await;
    raw.expect_error(json!({"code": "unauthorized", "frame_type": "send", "to": "a"}))
        .await;
    raw.send(json!({"type": "register", "id": "a", "token": token}))
        .await;
    raw.expect(json!({"type": "registered", "id": "a"})).await;
    // The header of the upgrade works too.
    let header = format!("Bearer {token}");
    let headers = [("authorization", header.as_str())];
    let mut raw = Raw::connect_with(hub.addr(), "/ws", &headers)
        .await
        .unwrap();
    raw.send(json!({"type": "list"})).await;
    assert_eq!(raw.frame().await["agents"][0]["id"], "a");
    raw.register("b").await;
}

#[tokio::test]
async fn a_revoked_token_closes_its_sockets_with_4002() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let token = hub.token("ann", &["agent:*"]).await;
    let (mut one, mut two) = (
        hub.agora_of(&token, "one").await,
        hub.agora_of(&token, "two").await,
    );
    let tokens = hub.hub().tokens();
    let record = tokens
        .list()
        .into_iter()
        .find(|token| token.owner.as_str() == "ann");
    tokens.revoke(record.unwrap().id).await.unwrap();
    assert_eq!(one.closed().await.0, 4002);
    assert_eq!(two.closed().await.0, 4002);
    let mut raw = hub.connect().await;
    raw.send(json!({"type": "register", "id": "one", "token": token}))
        .await;
    raw.expect_error(json!({"code": "unauthorized", "frame_type": "register", "field": "token"}))
        .await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn nobody_answers_a_call_that_was_delivered_to_another() {
    let hub = TestHub::start().await;
    let mut asked = hub.agora("asked").await;
    let mut stranger = hub.agora("stranger").await;
    let call = hub
        .hub()
        .calls()
        .open(fake_request("asked", "what is it?"))
        .unwrap();
    let mut replies = call.replies();
    let address = asked.frame().await["from"].clone();
    for kind in [
        "reply_chunk",
        "reply",
        "reply_end",
        "cancel",
        "error",
        "send",
        "send_chunk",
    ] {
        stranger
            .send(json!({"type": kind, "to": address, "stream_id": "s", "chunk": "lies", "payload": "lies", "code": "c", "message": "m"}))
            .await;
    }
    // The stranger learns nothing about the call.
    stranger.expect_nothing().await;
    asked
        .send(json!({"type": "reply", "to": address, "payload": "the truth"}))
        .await;
    assert_eq!(
        replies.next().await,
        Some(Reply::Event(Event::text("the truth")))
    );
    assert_eq!(replies.next().await, Some(Reply::End(End::done())));
}
