//! The token of the handshake counts for both doors, unless a frame has its own.

use jackfield_core::{
    principal::Principal,
    tap::{Sight, TapFilter},
};
use jackfield_testkit::{Raw, TestHub, bridge_register};
use serde_json::{Value, json};

use super::{is_refused_by_bridge, is_taken_by_bridge};

/// A hub that trusts no address.
async fn strict() -> TestHub {
    TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await
}

async fn connect(hub: &TestHub, path: &str, token: &str) -> Raw {
    let value = format!("Bearer {token}");
    let connected = Raw::connect_with(hub.addr(), path, &[("authorization", &value)]).await;
    connected.unwrap()
}

/// A `register` of the bridge with this token, or none.
fn register(id: &str, token: Option<&str>) -> Value {
    let mut register = bridge_register(id);
    match token {
        Some(token) => register["token"] = json!(token),
        None => drop(register.as_object_mut().unwrap().remove("token")),
    }
    register
}

#[tokio::test]
async fn a_bridge_agent_may_show_its_token_in_the_header() {
    let hub = strict().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let ways = [("/ws", "a"), ("/ws?agent_id=b", "b")];
    for (path, id) in ways {
        let mut raw = connect(&hub, path, &ann).await;
        raw.send(register(id, None)).await;
        is_taken_by_bridge(&mut raw).await;
        // Clients without a token send an empty one.
        let mut raw = connect(&hub, path, &ann).await;
        raw.send(register(id, Some(""))).await;
        is_taken_by_bridge(&mut raw).await;
    }
    for (path, id) in ways {
        let mut raw = Raw::connect(hub.addr(), path).await;
        raw.send(register(id, None)).await;
        is_refused_by_bridge(&mut raw, "Authentication failed", "Auth failed").await;
    }
}

#[tokio::test]
async fn the_token_of_the_frame_counts_before_that_of_the_header() {
    let hub = strict().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut raw = connect(&hub, "/ws", &ann).await;
    raw.send(register("a", Some("jf_guess"))).await;
    is_refused_by_bridge(&mut raw, "Authentication failed", "Auth failed").await;
    let mut raw = connect(&hub, "/ws", "jf_guess").await;
    raw.send(register("a", Some(&ann))).await;
    is_taken_by_bridge(&mut raw).await;
}

#[tokio::test]
async fn a_revoked_token_of_the_header_closes_the_agents_of_both_doors() {
    let hub = strict().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let mut bridge = connect(&hub, "/ws", &ann).await;
    bridge.send(register("a", None)).await;
    is_taken_by_bridge(&mut bridge).await;
    let mut agora = connect(&hub, "/ws", &ann).await;
    agora.register("b").await;
    let tokens = hub.hub().tokens();
    for record in tokens.list() {
        tokens.revoke(record.id).await.unwrap();
    }
    for mut raw in [bridge, agora] {
        assert_eq!(raw.closed().await, (4002, "token revoked".to_owned()));
    }
}

#[tokio::test]
async fn observers_of_raw_frames_see_no_token_of_either_door() {
    let hub = strict().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let filter = TapFilter {
        raw: true,
        ..TapFilter::default()
    };
    let mut watching = hub.hub().taps().watch(Principal::local(), filter);
    let mut agora = hub.connect().await;
    for _ in 0..2 {
        agora
            .send(json!({"type": "register", "id": "a", "token": ann}))
            .await;
        agora.expect(json!({"type": "registered", "id": "a"})).await;
    }
    // An invalid register contains the token too.
    agora.send(json!({"type": "register", "token": ann})).await;
    agora.frame().await;
    let mut bridge = hub.connect_bridge("b").await;
    let mut frame = register("b", Some(&ann));
    frame["extensions"] = json!(["resume"]);
    bridge.send(frame.clone()).await;
    let registered = bridge.frame().await;
    let resume = registered["resume"]["token"].as_str().unwrap();
    frame["resume"] = json!({"token": resume, "open": []});
    bridge.send(frame).await;
    bridge.frame().await;
    agora.close().await;
    bridge.close().await;
    let (mut registers, mut left) = (0, 0);
    while left < 2 {
        match watching.next().await.sight {
            Sight::Frame(_, text) => {
                assert!(!text.contains(&ann) && !text.contains(resume), "{text}");
                registers += usize::from(text.contains("\"hidden\""));
            }
            Sight::Offline => left += 1,
            _ => {}
        }
    }
    assert_eq!(registers, 4, "three `register` and one `registered`");
}
