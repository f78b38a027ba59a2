//! Each way to connect, without losing data that comes with the first frame.

use std::time::Duration;

use jackfield_testkit::{Raw, TestHub, bridge_register, fake_request};
use reqwest::Method;
use serde_json::{Value, json};

use super::{is_refused_by_bridge, is_taken_by_bridge};

const TEXT: u8 = 1;
const PING: u8 = 9;
const LAST: u8 = 0x80;

#[tokio::test]
async fn an_agent_id_in_the_query_means_bridge_whatever_comes_first() {
    let hub = TestHub::start().await;
    let mut agent = hub.connect_bridge("a").await;
    agent.send(bridge_register("a")).await;
    is_taken_by_bridge(&mut agent).await;
    for first in [
        json!({"type": "list"}),
        json!({"type": "ping"}),
        json!({"type": "send", "to": "a"}),
    ] {
        let mut raw = hub.connect_bridge("b").await;
        raw.send(first).await;
        let error = "First message must be register";
        is_refused_by_bridge(&mut raw, error, "Expected register").await;
    }
    let mut liar = hub.connect_bridge("b").await;
    liar.send(bridge_register("a")).await;
    let error = "agent_id differs from the one in the URL";
    is_refused_by_bridge(&mut liar, error, "Auth failed").await;
    agent.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn a_url_that_gives_an_agent_id_twice_is_refused_before_the_socket_opens() {
    let hub = TestHub::start().await;
    let path = "/ws?agent_id=a&agent_id=b";
    let refused = Raw::connect_with(hub.addr(), path, &[]).await;
    assert_eq!(refused.err(), Some(400));
    let request = hub.web().ask(Method::GET, path);
    let request = request
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 400);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["error"], "invalid", "{body}");
    let text = body["message"].as_str().unwrap();
    assert!(text.contains("agent_id"), "{text}");
}

#[tokio::test]
async fn a_register_with_agent_id_is_an_agent_of_the_bridge_without_a_query() {
    let hub = TestHub::start().await;
    let mut agent = hub.connect().await;
    agent.send(bridge_register("a")).await;
    is_taken_by_bridge(&mut agent).await;
    let _replies = hub
        .hub()
        .calls()
        .open(fake_request("a", "hi"))
        .unwrap()
        .replies();
    agent.expect_message("hi").await;
    // An invalid frame gets the bridge's own error.
    let mut raw = hub.connect().await;
    raw.send(json!({"type": "register", "agent_id": "b", "bridge_version": "9"}))
        .await;
    let error = "Unsupported protocol version 9, expected 2";
    is_refused_by_bridge(&mut raw, error, "Version mismatch").await;
}

#[tokio::test]
async fn a_register_with_id_is_an_agora_agent_even_if_it_has_an_agent_id_too() {
    let hub = TestHub::start().await;
    let mut raw = hub.agora("a").await;
    raw.expect_nothing().await;
    let mut both = bridge_register("other");
    both["id"] = json!("b");
    let mut raw = hub.connect().await;
    raw.send(both).await;
    raw.expect(json!({"type": "registered", "id": "b"})).await;
}

#[tokio::test]
async fn a_list_or_a_ping_first_is_agoras() {
    let hub = TestHub::start().await;
    let _there = hub.bridge("there").await;
    let mut raw = hub.connect().await;
    raw.send(json!({"type": "list"})).await;
    let listed = raw.frame().await;
    assert_eq!(
        (&listed["type"], &listed["agents"][0]["id"]),
        (&json!("agents"), &json!("there"))
    );
    raw.register("a").await;
    let mut raw = hub.connect().await;
    raw.send(json!({"type": "ping"})).await;
    raw.expect(json!({"type": "pong"})).await;
    raw.register("b").await;
}

#[tokio::test]
async fn a_websocket_ping_decides_nothing() {
    let hub = TestHub::start().await;
    let mut agent = hub.connect().await;
    agent.send_raw(LAST | PING, b"there?").await;
    agent.send(bridge_register("a")).await;
    is_taken_by_bridge(&mut agent).await;
    let mut agent = hub.connect().await;
    agent.send_raw(LAST | PING, b"there?").await;
    agent.register("b").await;
}

#[tokio::test]
async fn a_first_frame_in_pieces_is_read_as_one() {
    let hub = TestHub::start().await;
    let mut agent = hub.connect().await;
    let register = bridge_register("a").to_string();
    let (one, two) = register.split_at(register.len() / 2);
    agent.send_raw(TEXT, one.as_bytes()).await;
    agent.send_raw(LAST | PING, b"").await;
    agent.send_raw(LAST, two.as_bytes()).await;
    is_taken_by_bridge(&mut agent).await;
}

#[tokio::test]
async fn what_is_sent_right_behind_the_first_frame_is_not_lost() {
    let hub = TestHub::start().await;
    let mut agent = hub.connect().await;
    assert!(agent.feed(&bridge_register("a")).await);
    for _ in 0..100 {
        assert!(agent.feed(&json!({"type": "discover_agents"})).await);
    }
    assert!(agent.flush().await);
    is_taken_by_bridge(&mut agent).await;
    for _ in 0..100 {
        assert_eq!(agent.frame().await["type"], "discover_agents_result");
    }
    let mut agent = hub.connect().await;
    assert!(agent.feed(&json!({"type": "register", "id": "b"})).await);
    for number in 0..100 {
        let frame = json!({"type": "send", "to": "b", "payload": number});
        assert!(agent.feed(&frame).await);
    }
    assert!(agent.flush().await);
    agent.expect(json!({"type": "registered", "id": "b"})).await;
    for number in 0..100 {
        agent
            .expect(json!({"type": "message", "from": "b", "payload": number}))
            .await;
    }
}

#[tokio::test]
async fn agents_of_both_doors_meet_on_the_one_address() {
    let hub = TestHub::start().await;
    let mut bridge = hub.connect().await;
    bridge.send(bridge_register("bridge")).await;
    is_taken_by_bridge(&mut bridge).await;
    let mut agora = hub.agora("agora").await;
    agora
        .send(json!({"type": "send", "to": "bridge", "payload": {"request_id": "r", "body": {"question": "hi"}}}))
        .await;
    let request_id = bridge.expect_message("hi").await;
    bridge
        .send(json!({"type": "done", "request_id": request_id, "result": "hello"}))
        .await;
    let reply = agora.frame().await;
    assert_eq!(
        (&reply["type"], &reply["payload"]["body"]["answer"]),
        (&json!("reply"), &json!("hello")),
        "{reply}"
    );
}

#[tokio::test]
async fn a_hub_that_stops_tells_those_who_said_nothing_too() {
    let hub = TestHub::start().await;
    let (mut silent, mut asked) = (hub.connect().await, hub.connect_bridge("a").await);
    let (mut agora, mut bridge) = (hub.agora("b").await, hub.bridge("c").await);
    let told = async {
        for raw in [&mut silent, &mut asked, &mut agora, &mut bridge] {
            assert_eq!(raw.closed().await.0, 1001);
            raw.gone().await;
        }
    };
    tokio::join!(hub.stop(Duration::ZERO), told);
}
