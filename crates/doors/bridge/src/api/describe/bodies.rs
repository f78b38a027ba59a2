//! Descriptions of the request bodies. The types of `wire::body` read the bodies field by field, in the order
//! of the original hub, and do not show which fields are required. Unknown fields are ignored, and null
//! counts as absent.

#![allow(dead_code, reason = "these types only describe")]

use jackfield_wire::bridge::Attachment;
use utoipa::ToSchema;

/// A message for an agent.
#[derive(Debug, ToSchema)]
#[schema(as = RelayRequest)]
pub(crate) struct RelayBody {
    /// Id of the agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
    /// Session id: 1 to 256 bytes.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    session_id: String,
    /// Request id: 1 to 256 bytes. Only one open request may have the same id.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    request_id: String,
    /// Text of the message.
    #[schema(min_length = 1)]
    content: String,
    /// Files attached to the message.
    attachments: Option<Vec<Attachment<'static>>>,
    /// Client whose workspace is used.
    #[schema(pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$")]
    client_id: Option<String>,
    /// Whether files are wanted.
    with_files: Option<bool>,
    /// `async` with a `callback_url`: the answer is posted to that URL. Any other value: the answer is a
    /// stream.
    mode: Option<String>,
    /// Id of the task on the platform; ignored by the hub.
    task_id: Option<serde_json::Value>,
    /// URL for the answer to an async request.
    callback_url: Option<String>,
    /// Title of the session, repeated in the callback.
    session_title: Option<String>,
    /// Message of the user, repeated in the callback.
    user_message: Option<String>,
    /// Whether the stream can be resumed after a disconnect.
    keep: Option<bool>,
    /// How long the request may wait for its agent; implies `keep`.
    wait_online: Option<WaitOnline>,
}

/// A length of time.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = RelaySpan)]
pub(crate) enum WaitOnline {
    /// Number of seconds.
    Seconds(u64),
    /// Number with a unit.
    Text(SpanText),
}

/// A whole number with ms, s, m, h or d.
#[derive(Debug, ToSchema)]
#[schema(as = RelaySpanText, pattern = "^[0-9]{1,6}(ms|s|m|h|d)$")]
pub(crate) struct SpanText(String);

/// A call from one agent to another.
#[derive(Debug, ToSchema)]
#[schema(as = RelayCall)]
pub(crate) struct A2aBody {
    /// Id of the calling agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    caller_agent_id: String,
    /// Id of the called agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    target_agent_id: String,
    /// Text of the request.
    #[schema(min_length = 1)]
    task_description: String,
}

/// The requests to cancel: one request, or all of a session.
#[derive(Debug, ToSchema)]
#[schema(as = RelayCancel)]
pub(crate) struct CancelBody {
    /// Id of the agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
    /// Session id.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    session_id: String,
    /// Request id.
    #[schema(max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    request_id: Option<String>,
}

/// The agent to disconnect.
#[derive(Debug, ToSchema)]
#[schema(as = RelayDisconnect)]
pub(crate) struct DisconnectBody {
    /// Id of the agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
}

/// The token whose agents are listed.
#[derive(Debug, ToSchema)]
#[schema(as = RelayToken)]
pub(crate) struct TokenHashBody {
    /// SHA-256 of the token, in hex.
    #[schema(min_length = 1)]
    token_hash: String,
}

/// A signal about a file transfer.
#[derive(Debug, ToSchema)]
#[schema(as = RelayRtcSignal)]
pub(crate) struct RtcBody {
    /// Id of the transfer.
    #[schema(min_length = 1)]
    transfer_id: String,
    /// Type of the signal; `poll` only fetches the agent's signals.
    #[schema(min_length = 1)]
    signal_type: String,
    /// Content of the signal, passed on to the agent unchanged.
    payload: Option<serde_json::Value>,
    /// Client whose files are meant.
    #[schema(pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$")]
    client_id: Option<String>,
    /// ICE servers to use, passed on to the agent unchanged.
    ice_servers: Option<serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use jackfield_wire::{json::MAX_DEPTH, read::FieldError};
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;
    use crate::wire::body;

    /// The fields that are described, and those of them that are needed.
    fn described<T: PartialSchema>() -> (Vec<String>, Value) {
        let schema = serde_json::to_value(T::schema()).unwrap();
        let names = schema["properties"].as_object().unwrap().keys().cloned();
        (names.collect(), schema["required"].clone())
    }

    /// The fields that are read: each knows its name.
    fn read(parsed: Result<impl Debug, FieldError>) -> Vec<String> {
        let shown = format!("{:?}", parsed.unwrap());
        let names = shown.split("name: \"").skip(1);
        let mut names: Vec<_> = names
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_described_is_what_is_read() {
        macro_rules! same {
            ($($body:ty, $read:ident, $needed:tt;)*) => {$(
                let (mut names, needed) = described::<$body>();
                names.sort();
                assert_eq!(names, read(body::$read::parse(b"{}", MAX_DEPTH)));
                assert_eq!(needed, json!($needed));
            )*};
        }
        same! {
            RelayBody, RelayRequest, ["agent_id", "session_id", "request_id", "content"];
            A2aBody, A2aCall, ["caller_agent_id", "target_agent_id", "task_description"];
            CancelBody, CancelRequest, ["agent_id", "session_id"];
            DisconnectBody, DisconnectRequest, ["agent_id"];
            TokenHashBody, AgentsByToken, ["token_hash"];
            RtcBody, RtcSignalRequest, ["transfer_id", "signal_type"];
        }
    }
}
