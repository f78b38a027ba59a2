//! JSON-RPC messages, as far as forwarding needs to understand them.

use serde_json::{Value, json};

/// Key of the task id in a progress notification of the hub's MCP server.
const TASK: &str = "jackfield/task";
/// Key of the protocol version in a request that carries the version itself.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Error code for a message that is neither a request nor a notification.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// Error code for invalid JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// Error code for a missing response or a refusal of the hub.
pub(super) const HUB_ERROR: i32 = -32000;

/// A message of the client.
#[derive(Debug)]
pub(super) struct RpcMessage(Value);

impl RpcMessage {
    /// Parses a line into a [`RpcMessage`]; the error is the response to send.
    pub(super) fn read(line: &str) -> Result<Self, Value> {
        let value: Value = serde_json::from_str(line).map_err(|error| {
            failed(
                &Value::Null,
                PARSE_ERROR,
                &format!("invalid JSON: {error}"),
                None,
            )
        })?;
        if value.is_object() {
            return Ok(Self(value));
        }
        let text = "each line must be one JSON object";
        Err(failed(&Value::Null, INVALID_REQUEST, text, None))
    }

    /// Returns the id, if the message is a request.
    pub(super) fn id(&self) -> Option<&Value> {
        self.method()?;
        self.0.get("id").filter(|id| !id.is_null())
    }

    /// Returns the method; `None` for a response.
    pub(super) fn method(&self) -> Option<&str> {
        self.0["method"].as_str()
    }

    /// Returns whether the message is a response to a request of the hub.
    pub(super) fn is_response(&self) -> bool {
        let has = |key: &str| self.0.get(key).is_some();
        self.method().is_none() && has("id") && (has("result") || has("error"))
    }

    /// Returns the target of the request, such as the name of a tool.
    pub(super) fn name(&self) -> Option<&str> {
        let params = &self.0["params"];
        let names = ["name", "uri", "taskId"].iter();
        names.filter_map(|key| params[*key].as_str()).next()
    }

    /// Returns the protocol version in the message itself.
    pub(super) fn version(&self) -> Option<&str> {
        self.0["params"]["_meta"][VERSION].as_str()
    }

    /// Returns the id of the request that the message cancels.
    pub(super) fn cancels(&self) -> Option<&Value> {
        (self.method() == Some("notifications/cancelled"))
            .then(|| &self.0["params"]["requestId"])
            .filter(|id| !id.is_null())
    }

    /// Requests progress if the client does not, so that the task is known if the response gets lost. Returns
    /// whether progress was requested here.
    pub(super) fn ask_for_progress(&mut self, token: &str) -> bool {
        let is_call = self.method() == Some("tools/call") && self.0["params"].is_object();
        if !is_call || !self.0["params"]["_meta"]["progressToken"].is_null() {
            return false;
        }
        let meta = &mut self.0["params"]["_meta"];
        if !meta.is_object() {
            *meta = json!({});
        }
        meta["progressToken"] = json!(token);
        true
    }

    /// Returns the params of the request, for changing them.
    pub(super) fn params_mut(&mut self) -> &mut Value {
        &mut self.0["params"]
    }

    pub(super) fn text(&self) -> String {
        self.0.to_string()
    }
}

/// Returns the task of a progress notification.
pub(super) fn task_of(progress: &Value) -> Option<&str> {
    progress["params"]["_meta"][TASK].as_str()
}

/// Builds the result of a tool that was called with a wrong argument.
pub(super) fn refused_tool(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": format!("invalid: {text}")}], "isError": true})
}

/// Builds an error response.
pub(super) fn failed(id: &Value, code: i32, text: &str, data: Option<Value>) -> Value {
    let mut error = json!({"code": code, "message": text});
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |line: &str| RpcMessage::read(line).unwrap();
        let request = read(r#"{"id": 1, "method": "tools/call", "params": {"name": "x"}}"#);
        assert_eq!((request.id(), request.name()), (Some(&json!(1)), Some("x")));
        let cancel = read(r#"{"method": "notifications/cancelled", "params": {"requestId": "a"}}"#);
        assert_eq!((cancel.id(), cancel.cancels()), (None, Some(&json!("a"))));
        let answer = read(r#"{"id": 1, "result": {}}"#);
        assert_eq!((answer.id(), answer.method()), (None, None));
        assert!(answer.is_response() && !request.is_response() && !cancel.is_response());
        let polled = read(r#"{"id": 1, "method": "tasks/get", "params": {"taskId": "t"}}"#);
        assert_eq!(polled.name(), Some("t"));
        for (line, code) in [("{", -32700), ("[]", -32600), ("5", -32600)] {
            let error = RpcMessage::read(line).unwrap_err();
            assert_eq!(error["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn progress_is_asked_for_only_where_nobody_does() {
        let mut plain = RpcMessage::read(r#"{"id":1,"method":"tools/call","params":{}}"#).unwrap();
        assert!(plain.ask_for_progress("t"));
        assert!(plain.text().contains(r#""progressToken":"t""#));
        let own = r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":0}}}"#;
        assert!(!RpcMessage::read(own).unwrap().ask_for_progress("t"));
        let other = r#"{"id":1,"method":"tools/list","params":{}}"#;
        assert!(!RpcMessage::read(other).unwrap().ask_for_progress("t"));
    }
}
