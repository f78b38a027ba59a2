//! The A2A door through a whole hub: documented commands and published clients, with agents of other doors behind it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod across;
pub(crate) mod judges;
mod seed;

use serde_json::{Value, json};

/// The documented request of Agno's dialect, for this agent.
fn hello(agent: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "message/send",
        "id": "req-1",
        "params": {
            "message": {
                "messageId": "msg-1",
                "role": "user",
                "agentId": agent,
                "contextId": "session-123",
                "parts": [{"kind": "text", "text": "Hello!"}]
            }
        }
    })
}
