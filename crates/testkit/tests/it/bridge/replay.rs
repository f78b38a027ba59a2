//! The whole life cycle of the published client, versions 1 and 2, frame by frame as recorded from the wire;
//! `judges/bridge.py` does the same with another author's WebSocket client.
//!
//! The hub accepts every frame of version 1. It doesn't transport `upload_url`, `upload_token` and `platform_task` of a
//! relay and `file_manifest` of a `done`: version 2 and the specification have dropped them.

use jackfield_testkit::{Events, Raw, TestHub, bridge_register, relay_to};
use serde_json::{Value, json};

use crate::bridge::{AMY, BOB, NOBODY, done, error, failed, finished, quiet_hub, text_event, with};

/// Differences between the clients.
struct Client {
    version: Value,
    agent_type: &'static str,
    /// The last frame of an answer.
    done: Value,
    /// The platform's event for the last frame.
    platform_event: Value,
}

fn clients() -> [Client; 3] {
    let files =
        json!([{"name": "a.png", "url": "https://files.example/a.png", "type": "image/png"}]);
    let manifest = json!([{"path": "a.png", "size": 3, "mtime_ms": 5, "type": "image/png"}]);
    let offer = json!({"transfer_id": "t-1", "zip_size": 10, "zip_sha256": "00", "file_count": 1});
    let client = |version: &str, agent_type, sent: &Value, platform_event: &Value| Client {
        version: version.into(),
        agent_type,
        done: with(with(done("r-1"), &json!({"result": "4"})), sent),
        platform_event: with(finished(), platform_event),
    };
    let (attached, offered) = (
        json!({"attachments": files}),
        json!({"file_transfer_offer": offer}),
    );
    let uploaded = with(attached.clone(), &json!({"file_manifest": manifest}));
    [
        // v0.12.1: uploads its files.
        client("1", "openclaw", &uploaded, &attached),
        client("1", "claude", &json!({}), &json!({})),
        // v0.19.11: offers its files.
        client("2", "claude", &offered, &offered),
    ]
}

/// Connects like the published client: it offers compression, and pings beside its heartbeats.
async fn connect(hub: &TestHub, id: &str) -> Raw {
    let deflate = "permessage-deflate; client_max_window_bits";
    let headers = [("sec-websocket-extensions", deflate)];
    Raw::connect_with(hub.addr(), &format!("/ws?agent_id={id}"), &headers)
        .await
        .unwrap()
}

async fn registered(hub: &TestHub, id: &str, client: &Client) -> Raw {
    let mut agent = connect(hub, id).await;
    agent
        .send(json!({
            "type": "register", "agent_id": id, "token": "ah_0123456789abcdef", "bridge_version": client.version,
            "agent_type": client.agent_type, "capabilities": [],
        }))
        .await;
    agent
        .expect(json!({"type": "registered", "status": "ok"}))
        .await;
    agent
}

async fn heartbeat(agent: &mut Raw, sessions: u32) {
    agent
        .send(json!({"type": "heartbeat", "active_sessions": sessions, "uptime_ms": 20_000}))
        .await;
    const LAST_PING: u8 = 0x89;
    agent.send_raw(LAST_PING, b"").await;
}

/// An answer with all six kinds, including the client's empty texts.
async fn answered(agent: &mut Raw, events: &mut Events, client: &Client) {
    agent.expect_message("hi").await;
    let chunk = json!({"type": "chunk", "session_id": "s-1", "request_id": "r-1"});
    for (sent, platform_event) in [
        (
            json!({"delta": "hm", "kind": "thinking", "tool_name": "", "tool_call_id": ""}),
            json!({"type": "chunk", "delta": "hm", "kind": "thinking"}),
        ),
        (
            json!({"delta": "", "kind": "tool_start", "tool_name": "Bash", "tool_call_id": "toolu_1"}),
            json!({"type": "chunk", "delta": "", "kind": "tool_start", "tool_name": "Bash", "tool_call_id": "toolu_1"}),
        ),
        (
            json!({"delta": "{\"command\":\"expr 2 + 2\"}", "kind": "tool_input", "tool_name": "Bash", "tool_call_id": "toolu_1"}),
            json!({"type": "chunk", "delta": "{\"command\":\"expr 2 + 2\"}", "kind": "tool_input", "tool_name": "Bash", "tool_call_id": "toolu_1"}),
        ),
        (
            json!({"delta": "4\n", "kind": "tool_result", "tool_name": "", "tool_call_id": "toolu_1"}),
            json!({"type": "chunk", "delta": "4\n", "kind": "tool_result", "tool_call_id": "toolu_1"}),
        ),
        (
            json!({"delta": "Writing…", "kind": "status"}),
            json!({"type": "chunk", "delta": "Writing…", "kind": "status"}),
        ),
        (json!({"delta": "4"}), text_event("4")),
    ] {
        agent.send(with(chunk.clone(), &sent)).await;
        events.expect(platform_event).await;
    }
    heartbeat(agent, 1).await;
    events.expect(json!({"type": "keepalive"})).await;
    agent.send(client.done.clone()).await;
    assert_eq!(
        events.rest().await,
        std::slice::from_ref(&client.platform_event)
    );
}

#[tokio::test]
async fn a_client_of_either_version_lives_its_whole_life() {
    for client in clients() {
        let hub = quiet_hub().await;
        let platform = hub.platform();
        let mut agent = registered(&hub, AMY, &client).await;
        heartbeat(&mut agent, 0).await;
        let mut relay = relay_to(AMY, "r-1");
        // Fields that platforms of version 1 add.
        relay["upload_url"] = "https://files.example/up".into();
        relay["upload_token"] = "u".into();
        relay["platform_task"] = json!({"type": "upload_file", "path": "a.png"});
        let mut events = platform.stream("/api/relay", relay).await;
        answered(&mut agent, &mut events, &client).await;

        // The client's own failure.
        let mut events = platform.relay(AMY, "r-2").await;
        agent.expect_message("hi").await;
        agent
            .send(error(
                "r-2",
                "adapter_crash",
                "Claude process exited with code 1",
            ))
            .await;
        events
            .expect(failed("adapter_crash", "Claude process exited with code 1"))
            .await;

        // A cancel, to which a running client doesn't respond.
        let mut events = platform.relay(AMY, "r-3").await;
        agent.expect_message("hi").await;
        let cancel = json!({"agent_id": AMY, "session_id": "s-1", "request_id": "r-3"});
        assert_eq!(platform.post("/api/cancel", cancel).await.0, 200);
        agent
            .expect(json!({"type": "cancel", "session_id": "s-1", "request_id": "r-3"}))
            .await;
        events
            .expect(failed("session_not_found", "Request cancelled"))
            .await;

        // The connection is cut, and the client reconnects.
        let mut events = platform.relay(AMY, "r-4").await;
        agent.expect_message("hi").await;
        agent.close().await;
        events
            .expect(failed("agent_offline", "Agent disconnected"))
            .await;
        let mut agent = registered(&hub, AMY, &client).await;
        let mut events = platform.relay(AMY, "r-4").await;
        agent.expect_message("hi").await;
        agent.send(done("r-4")).await;
        events.expect(finished()).await;
    }
}

#[tokio::test]
async fn agents_of_either_version_find_call_and_signal_each_other() {
    for client in clients() {
        let hub = TestHub::start().await;
        let mut amy = registered(&hub, AMY, &client).await;
        let mut bob = hub
            .bridge_as(BOB, json!({"bridge_version": 1, "capabilities": ["sum"]}))
            .await;

        amy.send(json!({"type": "discover_agents"})).await;
        let found = amy.frame().await;
        assert_eq!(
            found["agents"].as_array().unwrap().len(),
            2,
            "itself too: {found}"
        );
        amy.send(json!({"type": "discover_agents", "capability": "sum", "limit": 1}))
            .await;
        amy.expect(json!({"type": "discover_agents_result", "agents": [
            {"id": BOB, "name": BOB, "agent_type": "claude", "capabilities": ["sum"], "is_online": true},
        ]}))
        .await;

        amy.send(json!({"type": "call_agent", "target_agent_id": BOB, "task_description": "2 + 2?", "call_id": "c-1"})).await;
        bob.expect(json!({"type": "message", "session_id": "a2a-c-1", "request_id": "c-1", "content": "2 + 2?", "attachments": []}))
            .await;
        bob.send(json!({"type": "chunk", "session_id": "a2a-c-1", "request_id": "c-1", "delta": "hm", "kind": "thinking"})).await;
        amy.expect(json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "hm", "kind": "thinking"})).await;
        bob.send(
            json!({"type": "chunk", "session_id": "a2a-c-1", "request_id": "c-1", "delta": "4"}),
        )
        .await;
        amy.expect(json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "4"}))
            .await;
        bob.send(
            json!({"type": "done", "session_id": "a2a-c-1", "request_id": "c-1", "result": "4"}),
        )
        .await;
        amy.expect(json!({"type": "call_agent_done", "call_id": "c-1"}))
            .await;

        // Without a call id the hub creates one, and the responses contain it.
        amy.send(
            json!({"type": "call_agent", "target_agent_id": BOB, "task_description": "again"}),
        )
        .await;
        let request = bob.expect_message("again").await;
        bob.send(error(&request, "agent_busy", "Queue is full"))
            .await;
        amy.expect(json!({"type": "call_agent_error", "call_id": request, "code": "agent_busy", "message": "Queue is full"})).await;
        amy.send(json!({"type": "call_agent", "target_agent_id": NOBODY, "task_description": "x", "call_id": "c-2"})).await;
        let refused = amy.frame().await;
        assert_eq!(
            (&refused["type"], &refused["call_id"], &refused["code"]),
            (
                &json!("call_agent_error"),
                &json!("c-2"),
                &json!("agent_offline")
            )
        );

        // A file transfer between agents, and one with a caller of the platform.
        let offer = json!({"transfer_id": "t-1", "zip_size": 9, "zip_sha256": "0".repeat(64), "file_count": 1});
        for (signal_type, payload) in [
            ("prepare-upload", &*offer.to_string()),
            ("offer", "v=0"),
            ("candidate", "{\"candidate\":\"c\",\"mid\":\"0\"}"),
        ] {
            amy.send(json!({"type": "rtc_signal", "transfer_id": "t-1", "target_agent_id": BOB, "signal_type": signal_type, "payload": payload})).await;
            let mut relayed = json!({"type": "rtc_signal_relay", "transfer_id": "t-1", "from_agent_id": AMY, "signal_type": signal_type, "payload": payload});
            if signal_type == "prepare-upload" {
                // The folder for the files.
                relayed["client_id"] = format!("agent.{AMY}").into();
            }
            bob.expect(relayed).await;
        }
        let path = format!("/api/rtc-signal/{AMY}");
        let prepare = json!({"transfer_id": "t-2", "signal_type": "prepare-upload", "payload": "{\"transfer_id\":\"t-2\",\"zip_size\":9}", "client_id": "c-1"});
        assert_eq!(
            hub.platform().post(&path, prepare).await,
            (200, json!({"ok": true, "signals": []}))
        );
        amy.expect(json!({"type": "rtc_signal_relay", "transfer_id": "t-2", "from_agent_id": "http-caller", "signal_type": "prepare-upload", "payload": "{\"transfer_id\":\"t-2\",\"zip_size\":9}", "client_id": "c-1"})).await;
        amy.send(json!({"type": "rtc_signal", "transfer_id": "t-2", "target_agent_id": "http-caller", "signal_type": "answer", "payload": "v=0"})).await;
        amy.expect_no_bridge_frame().await;
        let poll = json!({"transfer_id": "t-2", "signal_type": "poll"});
        let signals = json!([{"signal_type": "answer", "payload": "v=0"}]);
        assert_eq!(
            hub.platform().post(&path, poll.clone()).await,
            (200, json!({"ok": true, "signals": signals}))
        );
        assert_eq!(
            hub.platform().post(&path, poll).await.1["signals"],
            json!([]),
            "they are fetched once"
        );
    }
}

#[tokio::test]
async fn the_hub_closes_with_the_codes_that_clients_know() {
    let hub = TestHub::start().await;
    let client = &clients()[2];
    // 4001: the client exits, and the newer connection works.
    let mut old = registered(&hub, AMY, client).await;
    let mut new = registered(&hub, AMY, client).await;
    assert_eq!(old.closed().await.0, 4001);
    // 4002: the platform disconnects the client.
    let (_, cut) = hub
        .platform()
        .post("/api/disconnect", json!({"agent_id": AMY}))
        .await;
    assert_eq!(cut["was_online"], true);
    assert_eq!(new.closed().await.0, 4002);
    // 4002: the token in use is revoked.
    let token = hub.token("ann", &["agent:*"]).await;
    let mut hers = hub.bridge_of(&token, BOB).await;
    let tokens = hub.hub().tokens();
    let record = tokens
        .list()
        .into_iter()
        .find(|it| it.owner.as_str() == "ann");
    tokens.revoke(record.unwrap().id).await.unwrap();
    assert_eq!(hers.closed().await.0, 4002);
    // 1008: the client retries later; the frame before explains the reason.
    let mut version = bridge_register(AMY);
    version["bridge_version"] = "3".into();
    let mut dead = bridge_register(BOB);
    dead["token"] = token.into();
    for (frame, text, reason) in [
        ("not json".to_owned(), "Invalid JSON", "Invalid JSON"),
        (
            json!({"type": "heartbeat"}).to_string(),
            "First message must be register",
            "Expected register",
        ),
        (
            version.to_string(),
            "Unsupported protocol version 3, expected 2",
            "Version mismatch",
        ),
        (dead.to_string(), "Authentication failed", "Auth failed"),
    ] {
        let id = if frame.contains(BOB) { BOB } else { AMY };
        let mut agent = connect(&hub, id).await;
        agent.send_text(frame).await;
        agent
            .expect(json!({"type": "registered", "status": "error", "error": text}))
            .await;
        assert_eq!(agent.closed().await, (1008, reason.to_owned()));
    }
    // 1008: the client sends nothing.
    let hub = TestHub::start_with(|config| {
        config.limits.register = jackfield_core::units::Span::millis(50)
    })
    .await;
    let mut silent = connect(&hub, AMY).await;
    assert_eq!(silent.closed().await.0, 1008);
    // 1001: the hub stops, and the client reconnects to the next hub.
    let hub = TestHub::start().await;
    let mut agent = registered(&hub, AMY, client).await;
    let (stopped, closed) = tokio::join!(hub.restart(), agent.closed());
    assert_eq!(closed.0, 1001);
    registered(&stopped, AMY, client).await;
}
