//! JSON-RPC in ACP's stdio form: one message per line. Pure conversions between lines and messages.

use serde_json::{Value, json};

/// Error code of an unknown method.
pub(super) const NO_SUCH_METHOD: i64 = -32601;
/// Error code of an agent that requires a sign-in.
const SIGN_IN: i64 = -32000;

/// A message of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AgentRpcMessage {
    /// Response to one of our requests.
    Answer {
        /// Id of the request.
        id: u64,
        /// Result of the request.
        result: Result<Value, AcpError>,
    },
    /// A request of the agent.
    Request {
        /// Id for the response.
        id: Value,
        /// Name of the method.
        method: String,
        /// Parameters of the method.
        params: Value,
    },
    /// A notification of the agent.
    Notice {
        /// Name of the method.
        method: String,
        /// Parameters of the method.
        params: Value,
    },
}

/// Error response of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AcpError {
    code: i64,
    text: String,
}

impl AcpError {
    fn read(error: &Value) -> Self {
        let text = error["message"].as_str().unwrap_or("it does not say why");
        // The message is often just "Internal error"; the cause is in the details.
        let data = &error["data"];
        let details = [data, &data["details"], &data["message"]];
        let details = details.into_iter().find_map(Value::as_str);
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            text: match details.filter(|details| *details != text) {
                Some(details) => format!("{text}: {details}"),
                None => text.to_owned(),
            },
        }
    }

    /// Returns whether the agent requires a sign-in.
    pub(super) fn wants_sign_in(&self) -> bool {
        self.code == SIGN_IN
    }

    /// Returns the error text for people.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Parses a line; `None` if the line is not a message.
pub(super) fn read(line: &str) -> Option<AgentRpcMessage> {
    let Value::Object(mut message) = serde_json::from_str(line).ok()? else {
        return None;
    };
    let id = message.remove("id").filter(|id| !id.is_null());
    let params = message.remove("params").unwrap_or_default();
    if let Some(Value::String(method)) = message.remove("method") {
        return Some(match id {
            Some(id) => AgentRpcMessage::Request { id, method, params },
            None => AgentRpcMessage::Notice { method, params },
        });
    }
    let id = id?;
    // Some agents return our numeric id as a string.
    let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
    let result = match message.remove("error").filter(|error| !error.is_null()) {
        Some(error) => Err(AcpError::read(&error)),
        None => Ok(message.remove("result").unwrap_or_default()),
    };
    Some(AgentRpcMessage::Answer { id, result })
}

/// Builds the line of a request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Builds the line of a notification.
pub(super) fn notice(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Builds the line of a response to a request of the agent.
pub(super) fn answer(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Builds the line of an error response to a request of the agent.
pub(super) fn refusal(id: &Value, code: i64, text: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_requests_and_notices_are_told_apart() {
        let read = |line| read(line).unwrap();
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#),
            AgentRpcMessage::Answer {
                id: 3,
                result: Ok(json!({"stopReason": "end_turn"})),
            }
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":"4","result":null}"#),
            AgentRpcMessage::Answer {
                id: 4,
                result: Ok(Value::Null),
            }
        );
        assert_eq!(
            read(
                r#"{"jsonrpc":"2.0","id":"p-1","method":"session/request_permission","params":{"a":1}}"#
            ),
            AgentRpcMessage::Request {
                id: json!("p-1"),
                method: "session/request_permission".to_owned(),
                params: json!({"a": 1}),
            }
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","method":"session/update"}"#),
            AgentRpcMessage::Notice {
                method: "session/update".to_owned(),
                params: Value::Null,
            }
        );
    }

    #[test]
    fn an_error_tells_its_details_and_whether_somebody_has_to_sign_in() {
        for (error, text, signs_in) in [
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"no model"}}"#,
                "Internal error: no model",
                false,
            ),
            (
                r#"{"code":-32000,"message":"Authentication required"}"#,
                "Authentication required",
                true,
            ),
            (
                r#"{"code":-32603,"message":"broken","data":"broken"}"#,
                "broken",
                false,
            ),
            (r"{}", "it does not say why", false),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
            let Some(AgentRpcMessage::Answer {
                result: Err(error), ..
            }) = read(&line)
            else {
                panic!("{line}");
            };
            assert_eq!(error.text(), text);
            assert_eq!(error.wants_sign_in(), signs_in);
        }
    }

    #[test]
    fn what_is_no_message_is_nothing() {
        for line in [
            "",
            "Loading model…",
            "[1]",
            "3",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":1}"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
