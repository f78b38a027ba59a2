//! Registration: ids, owners, tokens.

use std::time::Duration;

use jackfield_core::principal::Scopes;
use jackfield_model::Owner;
use jackfield_testkit::{TestHub, bridge_register};
use serde_json::{Value, json};

use super::{Bystander, refused};
use crate::bridge::{AMY, BOB, answer_all, failed, finished, text_event};

fn register(id: &str, token: Option<&str>) -> Value {
    let mut register = bridge_register(id);
    register["token"] = token.into();
    register
}

/// The error is the same for all reasons.
fn not_authentic() -> (String, String) {
    ("Authentication failed".to_owned(), "Auth failed".to_owned())
}

async fn revoke(hub: &TestHub, owner: &str) {
    let tokens = hub.hub().tokens();
    let mut all = tokens.list().into_iter();
    let record = all.find(|it| it.owner.as_str() == owner).unwrap();
    tokens.revoke(record.id).await.unwrap();
}

#[tokio::test]
async fn the_url_and_the_register_name_the_same_agent() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    for (url, id) in [(AMY, BOB), ("bystander", AMY), (AMY, "bystander")] {
        let mut raw = hub.connect_bridge(url).await;
        raw.send(bridge_register(id)).await;
        let (text, _) = refused(&mut raw).await;
        assert_eq!(text, "agent_id differs from the one in the URL");
    }
    bystander.is_undisturbed().await;
    // A UUID is case-insensitive.
    let mut raw = hub.connect_bridge(&AMY.to_uppercase()).await;
    raw.send(bridge_register(AMY)).await;
    raw.expect(json!({"type": "registered", "status": "ok"}))
        .await;
}

#[tokio::test]
async fn a_uuid_is_one_agent_in_either_case_wherever_it_is_named() {
    let hub = TestHub::start().await;
    let upper = AMY.to_uppercase();
    let mut amy = hub.bridge(&upper).await;
    let mut bob = hub.bridge(BOB).await;
    let platform = hub.platform();
    let mut events = platform.relay(&upper, "r-1").await;
    amy.expect_message("hi").await;
    answer_all(&mut amy, "r-1", "me").await;
    assert_eq!(events.rest().await, [text_event("me"), finished()]);
    for id in [AMY, &upper] {
        let (_, status) = platform.get(&format!("/api/agents/{id}/status")).await;
        assert_eq!(status["online"], true);
        bob.send(json!({"type": "call_agent", "target_agent_id": id, "task_description": id, "call_id": id}))
            .await;
        let request = amy.expect_message(id).await;
        answer_all(&mut amy, &request, "me").await;
        bob.expect(json!({"type": "call_agent_chunk", "call_id": id, "delta": "me"}))
            .await;
        bob.expect(json!({"type": "call_agent_done", "call_id": id}))
            .await;
        let offer = json!({"transfer_id": "t", "zip_size": 9, "zip_sha256": "0".repeat(64), "file_count": 1});
        for (signal_type, payload) in [("prepare-upload", offer.to_string()), ("offer", "x".into())]
        {
            bob.send(json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": id, "signal_type": signal_type, "payload": payload}))
                .await;
            let mut relayed = json!({"type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": BOB, "signal_type": signal_type, "payload": payload});
            if signal_type == "prepare-upload" {
                relayed["client_id"] = format!("agent.{BOB}").into();
            }
            amy.expect(relayed).await;
        }
    }
}

#[tokio::test]
async fn an_agent_is_its_owners_online_and_offline() {
    let hub = TestHub::start().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let mut hers = hub.bridge_of(&ann, AMY).await;
    let mut watch = hub.watch(AMY);
    for _ in 0..2 {
        for token in [Some(bob.as_str()), Some("ah_guess"), None] {
            let mut raw = hub.connect_bridge(AMY).await;
            raw.send(register(AMY, token)).await;
            assert_eq!(refused(&mut raw).await, not_authentic(), "{token:?}");
        }
        hers.expect_no_bridge_frame().await;
        hers.close().await;
        watch.until_offline().await;
        hers = hub.bridge_of(&ann, AMY).await;
    }
}

#[tokio::test]
async fn a_token_registers_only_what_its_scopes_name() {
    let hub = TestHub::start().await;
    let token = hub.token("ann", &["agent:lab-*", "call:*"]).await;
    let mut raw = hub.connect_bridge("office-1").await;
    raw.send(register("office-1", Some(&token))).await;
    // A valid token may learn about its own scopes.
    let (text, reason) = not_authentic();
    let text = format!("{text}: this token may register agent:lab-* only");
    assert_eq!(refused(&mut raw).await, (text, reason));
    hub.bridge_of(&token, "lab-1").await;
}

#[tokio::test]
async fn wrong_expired_and_revoked_tokens_look_the_same() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut hers = hub.bridge_of(&ann, AMY).await;
    let revoked = hub.token("bob", &["agent:*"]).await;
    revoke(&hub, "bob").await;
    let (owner, scopes) = (Owner::parse("cyd").unwrap(), Scopes::admin());
    let tokens = hub.hub().tokens();
    let expired = tokens.create("t".into(), owner, &scopes, Some(Duration::ZERO));
    let expired = expired.await.unwrap().secret;
    for token in [
        None,
        Some(""),
        Some("jf_guess"),
        Some(&*revoked),
        Some(&*expired),
    ] {
        // For an existing agent and for an unknown agent.
        for id in [AMY, BOB] {
            let mut raw = hub.connect_bridge(id).await;
            raw.send(register(id, token)).await;
            assert_eq!(refused(&mut raw).await, not_authentic(), "{token:?}");
        }
    }
    hers.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn a_revoked_token_closes_its_sockets_with_4002() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let token = hub.token("ann", &["agent:*"]).await;
    let mut one = hub.bridge_of(&token, AMY).await;
    let mut two = hub.bridge_of(&token, BOB).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    one.expect_message("hi").await;
    revoke(&hub, "ann").await;
    assert_eq!(one.closed().await.0, 4002);
    assert_eq!(two.closed().await.0, 4002);
    events
        .expect(failed("agent_offline", "Agent disconnected"))
        .await;
    let mut raw = hub.connect_bridge(AMY).await;
    raw.send(register(AMY, Some(&token))).await;
    assert_eq!(refused(&mut raw).await, not_authentic());
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn a_token_that_expires_in_use_closes_with_4002() {
    let hub = TestHub::start().await;
    let (owner, scopes) = (Owner::parse("ann").unwrap(), Scopes::admin());
    let span = Some(Duration::from_secs(2));
    let tokens = hub.hub().tokens();
    let token = tokens.create("t".into(), owner, &scopes, span).await;
    let mut hers = hub.bridge_of(&token.unwrap().secret, AMY).await;
    assert_eq!(hers.closed().await.0, 4002);
}

#[tokio::test]
async fn a_register_that_cannot_be_read_is_refused_with_its_field() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let long = "x".repeat(4097);
    for (field, value) in [
        ("agent_id", Value::Null),
        ("agent_id", json!(7)),
        ("capabilities", json!("sum")),
        ("capabilities", json!([7])),
        ("capabilities", json!(vec!["x"; 257])),
        ("agent_type", json!(long)),
        ("token", json!(["t"])),
        ("extensions", json!({})),
        ("resume", json!("x")),
    ] {
        let mut frame = bridge_register(AMY);
        frame[field] = value;
        let mut raw = hub.connect_bridge(AMY).await;
        raw.send(frame.clone()).await;
        let (text, reason) = refused(&mut raw).await;
        assert!(text.contains(field), "{field}: {text}");
        assert_eq!(reason, "Invalid register");
    }
    for id in ["", "a b", "-a", "a/b", "é", &"x".repeat(129)] {
        let mut raw = hub.connect_bridge("x").await;
        raw.send(bridge_register(id)).await;
        let (text, _) = refused(&mut raw).await;
        assert!(text.contains("id"), "{id}: {text}");
    }
    let mut raw = hub.connect_bridge(AMY).await;
    const LAST_TEXT: u8 = 0x81;
    raw.send_raw(LAST_TEXT, &vec![b' '; (64 << 10) + 1]).await;
    assert_eq!(raw.closed().await.0, 1009);
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn a_refused_register_leaves_the_connection_that_is_there_alone() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    let mut version = bridge_register(AMY);
    version["bridge_version"] = json!(9);
    for frame in [version, json!({"type": "chunk"}), json!([])] {
        let mut raw = hub.connect_bridge(AMY).await;
        raw.send(frame).await;
        refused(&mut raw).await;
    }
    // A second register on the same connection gets an error and changes nothing.
    for id in [AMY, BOB] {
        amy.send(bridge_register(id)).await;
        amy.expect_error(
            json!({"code": "invalid_message", "frame_type": "register", "field": "type"}),
        )
        .await;
    }
    answer_all(&mut amy, "r-1", "still me").await;
    assert_eq!(events.rest().await, [text_event("still me"), finished()]);
}
