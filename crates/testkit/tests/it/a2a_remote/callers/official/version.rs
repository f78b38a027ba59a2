//! Differences between the versions of the official protocol.

use serde_json::{Value, json};

use crate::a2a_remote::callers::text;

/// A protocol version, as written and read by a caller.
pub(crate) trait Version {
    const NAME: &'static str;
    const HEADER: Option<&'static str>;
    const SEND: &'static str;
    const STREAM: &'static str;
    const CANCEL: &'static str;

    fn message(text: &str) -> Value;

    /// A response or stream item as `{task | message | statusUpdate | artifactUpdate: {}}`.
    fn item(result: Value) -> Value;

    /// The state, by its name in 0.3.
    fn state(status: &Value) -> String;
}

pub(crate) struct Zero3;

impl Version for Zero3 {
    const NAME: &'static str = "a caller of version 0.3";
    const HEADER: Option<&'static str> = None;
    const SEND: &'static str = "message/send";
    const STREAM: &'static str = "message/stream";
    const CANCEL: &'static str = "tasks/cancel";

    fn message(text: &str) -> Value {
        let parts = json!([{"kind": "text", "text": text}]);
        json!({"kind": "message", "messageId": format!("m-{text}"), "role": "user", "parts": parts})
    }

    fn item(result: Value) -> Value {
        let name = match result["kind"].as_str().unwrap() {
            "status-update" => "statusUpdate",
            "artifact-update" => "artifactUpdate",
            name => name,
        }
        .to_owned();
        json!({name: result})
    }

    fn state(status: &Value) -> String {
        text(&status["state"])
    }
}

pub(crate) struct One;

impl Version for One {
    const NAME: &'static str = "a caller of version 1.0";
    const HEADER: Option<&'static str> = Some("1.0");
    const SEND: &'static str = "SendMessage";
    const STREAM: &'static str = "SendStreamingMessage";
    const CANCEL: &'static str = "CancelTask";

    fn message(text: &str) -> Value {
        json!({"messageId": format!("m-{text}"), "role": "ROLE_USER", "parts": [{"text": text}]})
    }

    fn item(result: Value) -> Value {
        result
    }

    fn state(status: &Value) -> String {
        let state = text(&status["state"]);
        let state = state.strip_prefix("TASK_STATE_").unwrap();
        state.to_lowercase().replace('_', "-")
    }
}
