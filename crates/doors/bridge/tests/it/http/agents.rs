//! Agents as the platform sees them. What only a real connection tells is tested beside it, in `src/api/tests.rs`.

use jackfield_core::agent::Closing;
use serde_json::json;

use crate::http::harness::BridgeHub;

#[tokio::test]
async fn an_agent_that_never_connected_has_an_empty_status() {
    let hub = BridgeHub::start().await;
    let (status, answer) = hub.get("/api/agents/nobody/status").await;
    assert_eq!(status.as_u16(), 200);
    let empty = json!({
        "online": false, "agent_type": "", "capabilities": [], "connected_at": "",
        "last_heartbeat": "", "active_sessions": 0, "user_id": "",
    });
    assert_eq!(answer, empty);
}

#[tokio::test]
async fn an_agent_is_online_until_it_leaves_and_its_owner_is_told_as_long() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let (_, online) = hub.get("/api/agents/amy/status").await;
    assert_eq!(
        (&online["online"], &online["user_id"]),
        (&json!(true), &json!("local"))
    );
    assert_eq!(online["agent_type"], "claude");
    assert_eq!(online["capabilities"], json!(["translation"]));
    amy.leave();
    let (_, offline) = hub.get("/api/agents/amy/status").await;
    assert_eq!(
        (&offline["online"], &offline["user_id"]),
        (&json!(false), &json!(""))
    );
    assert_eq!(offline["agent_type"], "claude");
}

#[tokio::test]
async fn an_id_is_found_however_its_uuid_is_spelt() {
    let hub = BridgeHub::start().await;
    let _agent = hub.attach("0192f0c1-7b2a-7abc-8def-0123456789ab");
    let (_, answer) = hub
        .get("/api/agents/0192F0C1-7B2A-7ABC-8DEF-0123456789AB/status")
        .await;
    assert_eq!(answer["online"], true);
}

#[tokio::test]
async fn a_disconnect_closes_the_connection_as_if_the_token_were_revoked() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"agent_id": "amy"});
    let (status, answer) = hub.post("/api/disconnect", body.clone()).await;
    assert_eq!(status.as_u16(), 200);
    assert_eq!(answer, json!({"success": true, "was_online": true}));
    assert_eq!(amy.next_close().await, Closing::Revoked);
    amy.leave();
    let (status, answer) = hub.post("/api/disconnect", body).await;
    assert_eq!(status.as_u16(), 200);
    assert_eq!(answer, json!({"success": true, "was_online": false}));
    let (_, answer) = hub
        .post("/api/disconnect", json!({"agent_id": "nobody"}))
        .await;
    assert_eq!(answer, json!({"success": true, "was_online": false}));
}

#[tokio::test]
async fn a_token_that_nobody_uses_has_no_agents() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    let (status, answer) = hub
        .post("/api/agents-by-token", json!({"token_hash": "00"}))
        .await;
    assert_eq!((status.as_u16(), answer), (200, json!({"agents": []})));
}
