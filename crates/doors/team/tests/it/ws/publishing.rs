//! The socket on which an outside runtime publishes.

use serde_json::{Value, json};

use crate::ws::harness::*;

fn word(name: &str, delta: &str) -> Value {
    json!({
        "event_id": "e-1", "timestamp": "2026-01-06T12:00:00Z", "team_id": "web",
        "event_source_type": "AGENT",
        "data": {"agent_name": name, "agent_event": {
            "event_id": "e-2", "timestamp": "2026-01-06T12:00:00Z",
            "event_type": "segment_event",
            "data": {
                "type": "SEGMENT_CONTENT", "event_type": "SEGMENT_CONTENT", "segment_id": "s",
                "payload": {"delta": delta, "id": "another", "x_own": 1},
            },
        }},
    })
}

#[tokio::test]
async fn each_frame_is_answered_in_order_and_shown_to_the_viewers() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let mut runtime = hub.view("/v1/teams/web/events").await;
    runtime.send(word("boss", "one")).await;
    runtime.send(word("stranger", "none")).await;
    runtime.send_text("{").await;
    runtime.send_binary(&[1]).await;
    runtime
        .send(json!([word("boss", "two"), word("boss", "three")]))
        .await;

    let first = runtime.frame().await;
    let run = &first["team_run_id"];
    assert_eq!(
        first,
        json!({"accepted": 1, "team_run_id": run, "last_sequence": 1})
    );
    for (error, text) in [
        ("invalid", "agent_name"),
        ("invalid", "JSON"),
        ("unsupported", "binary"),
    ] {
        let refused = runtime.frame().await;
        assert_eq!(refused["error"], error, "{refused}");
        assert!(
            refused["message"].as_str().unwrap().contains(text),
            "{refused}"
        );
    }
    let last = runtime.frame().await;
    assert_eq!(
        last,
        json!({"accepted": 2, "team_run_id": run, "last_sequence": 3})
    );

    for (number, delta) in (1..).zip(["one", "two", "three"]) {
        let shown = viewer.until("SEGMENT_CONTENT").await;
        assert_eq!(
            (&shown["id"], &shown["delta"]),
            (&json!("s"), &json!(delta))
        );
        assert_eq!(
            (&shown["x_own"], &shown["agent_name"]),
            (&json!(1), &json!("boss"))
        );
        assert_eq!(
            (&shown["agent_id"], &shown["member_route_key"]),
            (&json!("a-boss"), &json!("boss"))
        );
        let stamp = &shown["team_stream_event_envelope"];
        assert_eq!(
            (&stamp["sequence"], &stamp["origin"]),
            (&json!(number), &json!("remote"))
        );
    }
}

#[tokio::test]
async fn a_published_chunk_of_the_old_kind_has_a_frame_for_its_number() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let mut runtime = hub.view("/v1/teams/web/events").await;
    let mut chunk = word("boss", "");
    chunk["data"]["agent_event"]["event_type"] = json!("assistant_chunk");
    chunk["data"]["agent_event"]["data"] = json!({"content": "x", "is_complete": false});
    runtime.send(json!([chunk, word("boss", "shown")])).await;
    assert_eq!(runtime.frame().await["last_sequence"], 2);
    let (chunk, shown) = (viewer.frame().await, viewer.frame().await);
    assert_eq!(
        (&chunk["type"], &chunk["payload"]["content"]),
        (&json!("ASSISTANT_CHUNK"), &json!("x"))
    );
    assert_eq!(shown["payload"]["delta"], "shown");
    assert_eq!(sequences(&[chunk, shown]), [1, 2]);
}

#[tokio::test]
async fn who_decides_what_a_runtime_published_is_told_who_does() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let mut runtime = hub.view("/v1/teams/web/events").await;
    let mut asks = word("boss", "");
    asks["data"]["agent_event"]["event_type"] = json!("tool_approval_requested");
    asks["data"]["agent_event"]["data"] =
        json!({"invocation_id": "q-1", "tool_name": "rm", "arguments": {}});
    runtime.send(asks).await;
    viewer.until("TOOL_APPROVAL_REQUESTED").await;
    let decision = json!({"invocation_id": "q-1", "agent_name": "boss"});
    viewer
        .send(json!({"type": "APPROVE_TOOL", "payload": decision}))
        .await;
    let refused = viewer.until("ERROR").await;
    assert_eq!(refused["code"], "APPROVAL_INVOCATION_NOT_PENDING");
    let text = refused["message"].as_str().unwrap();
    assert!(text.contains("that runtime decides"), "{text}");
}

#[tokio::test]
async fn a_team_of_which_one_may_not_know_cannot_be_published_to() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (_, ann) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &["agent:*"]).await;
    let (guest, _) = hub.token("guest", &["call:web"]).await;
    let _boss = hub.attach_for(&ann, "a-boss");
    hub.team_for(&ann, "web", &["boss=a-boss"]);
    let refused = hub.try_view("/v1/teams/web/events", Some(&bob)).await;
    let Err(refused) = refused.map(drop) else {
        panic!("not refused")
    };
    assert_eq!(refused.status, 404);
    // Who may call it may not speak for its members.
    let mut runtime = hub.view_as(&guest, "/v1/teams/web/events").await;
    runtime.send(word("boss", "forged")).await;
    assert_eq!(runtime.frame().await["error"], "unauthorized");
}
