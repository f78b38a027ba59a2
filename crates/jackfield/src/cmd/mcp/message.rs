//! JSON-RPC messages, as far as they must be known to be passed on.

use serde_json::{Value, json};

/// Where a notification of progress names the task, as the hub's MCP door says it.
const TASK: &str = "jackfield/task";
/// The name of the protocol's version in a request that says it itself.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What is neither a request nor a notification.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// What is no JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// The hub did not answer, or refused to.
pub(super) const HUB_ERROR: i32 = -32000;

/// A message of the client.
#[derive(Debug)]
pub(super) struct Message(Value);

impl Message {
    /// Reads a line; the error is what to answer.
    pub(super) fn read(line: &str) -> Result<Self, Value> {
        let value: Value = serde_json::from_str(line).map_err(|error| {
            failed(
                &Value::Null,
                PARSE_ERROR,
                &format!("no JSON: {error}"),
                None,
            )
        })?;
        if value.is_object() {
            return Ok(Self(value));
        }
        let text = "one message a line, which is an object";
        Err(failed(&Value::Null, INVALID_REQUEST, text, None))
    }

    /// Its id, if it is a request.
    pub(super) fn id(&self) -> Option<&Value> {
        self.method()?;
        self.0.get("id").filter(|id| !id.is_null())
    }

    /// What it asks for; nothing if it is an answer.
    pub(super) fn method(&self) -> Option<&str> {
        self.0["method"].as_str()
    }

    /// What of the server it is about, such as the name of a tool.
    pub(super) fn name(&self) -> Option<&str> {
        let params = &self.0["params"];
        params["name"].as_str().or_else(|| params["uri"].as_str())
    }

    /// The version of the protocol that it says itself.
    pub(super) fn version(&self) -> Option<&str> {
        self.0["params"]["_meta"][VERSION].as_str()
    }

    /// The request that it cancels.
    pub(super) fn cancels(&self) -> Option<&Value> {
        (self.method() == Some("notifications/cancelled"))
            .then(|| &self.0["params"]["requestId"])
            .filter(|id| !id.is_null())
    }

    /// Asks for progress where the client does not, so that the task is known if the answer gets lost. Whether it did.
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

    pub(super) fn text(&self) -> String {
        self.0.to_string()
    }
}

/// The task that a notification of progress is about.
pub(super) fn task_of(progress: &Value) -> Option<&str> {
    progress["params"]["_meta"][TASK].as_str()
}

/// An answer that is an error.
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
        let read = |line: &str| Message::read(line).unwrap();
        let request = read(r#"{"id": 1, "method": "tools/call", "params": {"name": "x"}}"#);
        assert_eq!((request.id(), request.name()), (Some(&json!(1)), Some("x")));
        let cancel = read(r#"{"method": "notifications/cancelled", "params": {"requestId": "a"}}"#);
        assert_eq!((cancel.id(), cancel.cancels()), (None, Some(&json!("a"))));
        let answer = read(r#"{"id": 1, "result": {}}"#);
        assert_eq!((answer.id(), answer.method()), (None, None));
        for (line, code) in [("{", -32700), ("[]", -32600), ("5", -32600)] {
            let error = Message::read(line).unwrap_err();
            assert_eq!(error["error"]["code"], code, "{line}");
        }
    }

    #[test]
    fn progress_is_asked_for_only_where_nobody_does() {
        let mut plain = Message::read(r#"{"id":1,"method":"tools/call","params":{}}"#).unwrap();
        assert!(plain.ask_for_progress("t"));
        assert!(plain.text().contains(r#""progressToken":"t""#));
        let own = r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":0}}}"#;
        assert!(!Message::read(own).unwrap().ask_for_progress("t"));
        let other = r#"{"id":1,"method":"tools/list","params":{}}"#;
        assert!(!Message::read(other).unwrap().ask_for_progress("t"));
    }
}
