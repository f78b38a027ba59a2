//! JSON-RPC messages, as far as forwarding needs to understand them.

use serde_json::{Value, json};

/// Error code for a request that the hub did not answer.
const HUB_ERROR: i32 = -32603;
/// Error code for a line that cannot be forwarded.
const INVALID_REQUEST: i32 = -32600;

/// A message of the editor or of the hub.
#[derive(Debug)]
pub(super) struct RpcMessage(Value);

impl RpcMessage {
    /// Reads a message. A text that is no JSON has neither id nor method; the hub refuses it.
    pub(super) fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Returns the id and the method, if the message is a request.
    pub(super) fn request(&self) -> Option<(String, &str)> {
        let method = self.0["method"].as_str()?;
        let id = self.0.get("id").filter(|id| !id.is_null())?;
        Some((id.to_string(), method))
    }

    /// Returns the id of the request that the message is the response to.
    pub(super) fn answered(&self) -> Option<String> {
        let is_response = self.0["method"].is_null();
        let id = self.0.get("id").filter(|_| is_response)?;
        Some(id.to_string())
    }

    /// Whether the message is a response without an error.
    pub(super) fn is_result(&self) -> bool {
        self.0.get("result").is_some()
    }

    /// Returns the session that a request or the result of a request names.
    pub(super) fn session(&self) -> Option<&str> {
        let places = [
            &self.0["params"]["sessionId"],
            &self.0["result"]["sessionId"],
        ];
        places.into_iter().find_map(Value::as_str)
    }

    /// Returns the text of the same request with another id.
    pub(super) fn with_id(mut self, id: &str) -> String {
        self.0["id"] = id.into();
        self.0.to_string()
    }
}

/// Returns the error response to a request, whose id is JSON, that the hub did not answer.
pub(super) fn lost(id: &str) -> String {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    let text = "the connection to the hub was lost before it answered. Send it again.";
    let error = json!({"code": HUB_ERROR, "message": text, "data": {"reason": "offline"}});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Returns the error response to a line that is too long to be forwarded.
pub(super) fn too_long(bytes: u64) -> String {
    let text = format!("a message of {bytes} bytes is too large. Send less, or a link to it.");
    let error = json!({"code": INVALID_REQUEST, "message": text});
    json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string()
}

/// Returns the request that opens a session again.
pub(super) fn resume(id: &str, session: &str) -> String {
    let params = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
    json!({"jsonrpc": "2.0", "id": id, "method": "session/resume", "params": params}).to_string()
}
