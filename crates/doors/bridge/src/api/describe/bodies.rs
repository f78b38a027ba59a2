//! What the bodies of requests may say. They are read by `wire::body`, field by field and in the order of the original hub, so
//! that their types do not tell what is needed. Unknown fields are ignored, and null counts as absent.

#![allow(dead_code, reason = "these types only describe")]

use jackfield_wire::bridge::Attachment;
use utoipa::ToSchema;

/// A message for an agent.
#[derive(Debug, ToSchema)]
#[schema(as = RelayRequest)]
pub(crate) struct RelayBody {
    /// Who is asked.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
    /// The conversation: 1 to 256 bytes.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    session_id: String,
    /// The id by which the request is known: 1 to 256 bytes. It may be open once.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    request_id: String,
    /// What is asked.
    #[schema(min_length = 1)]
    content: String,
    /// The files that go with it.
    attachments: Option<Vec<Attachment<'static>>>,
    /// The client whose workspace is used.
    #[schema(pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$")]
    client_id: Option<String>,
    /// Whether files are wanted.
    with_files: Option<bool>,
    /// `async` with a `callback_url`: the answer is posted there. Anything else: the answer is a stream.
    mode: Option<String>,
    /// The platform's own id of the task; nothing depends on it.
    task_id: Option<serde_json::Value>,
    /// Where the answer to an async request goes.
    callback_url: Option<String>,
    /// The title of the conversation, repeated in the callback.
    session_title: Option<String>,
    /// What the user said, repeated in the callback.
    user_message: Option<String>,
    /// Whether the stream can be taken up again when it was lost.
    keep: Option<bool>,
    /// How long the request may wait for its agent; implies `keep`.
    wait_online: Option<WaitOnline>,
}

/// A length of time.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = RelaySpan)]
pub(crate) enum WaitOnline {
    /// Seconds.
    Seconds(u64),
    /// As people write it.
    Text(SpanText),
}

/// A whole number with ms, s, m, h or d.
#[derive(Debug, ToSchema)]
#[schema(as = RelaySpanText, pattern = "^[0-9]{1,6}(ms|s|m|h|d)$")]
pub(crate) struct SpanText(String);

/// A call of one agent to another.
#[derive(Debug, ToSchema)]
#[schema(as = RelayCall)]
pub(crate) struct A2aBody {
    /// Who calls.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    caller_agent_id: String,
    /// Who is called.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    target_agent_id: String,
    /// What it is asked.
    #[schema(min_length = 1)]
    task_description: String,
}

/// What is to be cancelled: one request, or all of a conversation.
#[derive(Debug, ToSchema)]
#[schema(as = RelayCancel)]
pub(crate) struct CancelBody {
    /// Who is to stop.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
    /// The conversation.
    #[schema(
        min_length = 1,
        max_length = 256,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    session_id: String,
    /// The request.
    #[schema(max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    request_id: Option<String>,
}

/// Whose connection is to be closed.
#[derive(Debug, ToSchema)]
#[schema(as = RelayDisconnect)]
pub(crate) struct DisconnectBody {
    /// The agent.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    agent_id: String,
}

/// Whose agents are wanted.
#[derive(Debug, ToSchema)]
#[schema(as = RelayToken)]
pub(crate) struct TokenBody {
    /// The SHA-256 of the token, in hex.
    #[schema(min_length = 1)]
    token_hash: String,
}

/// Something about a file transfer.
#[derive(Debug, ToSchema)]
#[schema(as = RelayRtcSignal)]
pub(crate) struct RtcBody {
    /// The transfer.
    #[schema(min_length = 1)]
    transfer_id: String,
    /// What it is; `poll` only fetches what the agent said.
    #[schema(min_length = 1)]
    signal_type: String,
    /// Its content, as the agent is to get it.
    payload: Option<serde_json::Value>,
    /// The client whose files are meant.
    #[schema(pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$")]
    client_id: Option<String>,
    /// The relays to use, as the agent is to get them.
    ice_servers: Option<serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use jackfield_wire::{json::MAX_DEPTH, read::Misread};
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
    fn read(parsed: Result<impl Debug, Misread>) -> Vec<String> {
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
            TokenBody, AgentsByToken, ["token_hash"];
            RtcBody, RtcSignalRequest, ["transfer_id", "signal_type"];
        }
    }
}
