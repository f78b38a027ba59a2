//! How a client begins: versions, the session, the list of tools, who is let in.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{McpHub, last};

fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 7, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    })
}

#[tokio::test]
async fn a_client_learns_who_we_are_and_gets_a_session_of_its_own() {
    let hub = McpHub::start().await;
    let mut sessions = Vec::new();
    for (asked, told) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        // One that nobody knows gets the newest that begins like this.
        ("1999-01-01", "2025-11-25"),
    ] {
        let response = hub.post(&initialize(asked)).send().await.unwrap();
        sessions.push(response.headers()["mcp-session-id"].clone());
        let result = last(response).await["result"].clone();
        assert_eq!(result["protocolVersion"], told, "{asked}");
        assert_eq!(
            result["serverInfo"],
            json!({"name": "jackfield", "version": "1.2.3"})
        );
        assert_eq!(result["capabilities"], json!({"tools": {}}));
        let instructions = result["instructions"].as_str().unwrap();
        assert!(instructions.contains("find_agents"), "{instructions}");
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 4);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = hub.post(&initialized).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn the_tools_are_listed_as_they_are_written_down() {
    let hub = McpHub::start().await;
    let listed = hub.rpc("tools/list", json!({})).await;
    let golden: Value = serde_json::from_str(include_str!("../../src/tools.json")).unwrap();
    assert_eq!(listed["result"], json!({"tools": golden}));
    for tool in golden.as_array().unwrap() {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for (name, schema) in properties {
            let is_described = schema["description"].as_str().is_some();
            assert!(is_described, "{} {name}", tool["name"]);
        }
    }
}

#[tokio::test]
async fn the_protocol_without_a_handshake_is_spoken_too() {
    let hub = McpHub::start().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "find_agents", "arguments": {}, "_meta": meta},
    });
    let request = hub
        .post(&message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "find_agents");
    let response = last(request.send().await.unwrap()).await;
    assert_eq!(
        response["result"]["structuredContent"],
        json!({"agents": [], "total": 0}),
        "{response}"
    );
}

#[tokio::test]
async fn who_is_not_admitted_learns_how_to_be() {
    let hub = McpHub::start_with(false, jackfield_core::limits::Limits::default()).await;
    let response = hub.post(&initialize("2025-11-25")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let asks = response.headers()["www-authenticate"].as_bytes();
    assert!(asks.starts_with(b"Bearer"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["error"], "unauthorized");
    let token = hub.token("ann", &[]).await;
    let request = hub.post(&initialize("2025-11-25")).bearer_auth(token);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn there_is_nothing_to_get_and_no_session_to_delete() {
    let hub = McpHub::start().await;
    for method in [Method::GET, Method::DELETE] {
        let response = hub.ask(method.clone(), "/mcp").send().await.unwrap();
        assert_eq!(
            response.status(),
            StatusCode::METHOD_NOT_ALLOWED,
            "{method}"
        );
    }
}
