//! Schemas of the frames. The hub reads relayed frames in one pass and writes them from one type, both by hand; the
//! types here describe each frame by itself, and the tests hold them to what is read and written.

#![allow(dead_code, reason = "only described, never made")]

use jackfield_kit::schemas::{MessageSchemas, MessageSender, MessageTransport};
use utoipa::ToSchema;

use super::{
    ErrorFrame, RegisterFrame,
    downlink::{AgentsFrame, RegisteredFrame},
    uplink::ListInput,
};
use crate::DOOR;

/// The receiver of a client's frame.
#[derive(ToSchema)]
struct Receiver {
    /// Id of the receiver, or the address of a call, which begins with `call:`.
    to: String,
}

/// The sender of a frame from the hub.
#[derive(ToSchema)]
struct Sender {
    /// Id of the sender, or the address of a call, which begins with `call:`. Only the hub sets the field.
    from: String,
}

/// A message or an answer, or the start of a streamed one. Unknown fields pass from agent to agent.
#[derive(ToSchema)]
struct OpeningFields {
    /// Id of the stream; required with `stream`, unless the receiver is a call.
    stream_id: Option<String>,
    /// Whether chunks and an end follow.
    stream: Option<bool>,
    /// Id of the request.
    request_id: Option<String>,
    /// Query or answer, in any form.
    payload: Option<serde_json::Value>,
    /// Stable id of the caller, set by the hub.
    caller: Option<String>,
    /// Metadata of the caller's protocol.
    metadata: Option<serde_json::Value>,
}

/// A chunk of a stream.
#[derive(ToSchema)]
struct ChunkFields {
    /// Id of the stream; required, unless the receiver is a call.
    stream_id: Option<String>,
    /// Text of the chunk.
    chunk: String,
    /// Kind of a chunk other than text: `thinking`, `tool_start`, `tool_input`, `tool_result`, `status`.
    kind: Option<String>,
    /// Name of the tool.
    tool_name: Option<String>,
    /// Id of the tool call.
    tool_call_id: Option<String>,
}

/// The end of a stream.
#[derive(ToSchema)]
struct EndFields {
    /// Id of the stream; required, unless the receiver is a call.
    stream_id: Option<String>,
    /// Answer, or the rest of one.
    payload: Option<serde_json::Value>,
}

/// Asks to stop a request or stream.
#[derive(ToSchema)]
struct CancelFields {
    /// Id of the stream; this or `request_id` is required, unless the receiver is a call.
    stream_id: Option<String>,
    /// Id of the request.
    request_id: Option<String>,
}

/// Reports that a request or stream failed.
#[derive(ToSchema)]
struct FailureFields {
    /// Name of the failure.
    code: String,
    /// Description of the failure, for people.
    message: String,
    /// Stream that is over.
    stream_id: Option<String>,
    /// Request that is over.
    request_id: Option<String>,
}

/// Returns the schemas of all frames between hub and agents.
pub(crate) fn schemas() -> Vec<MessageSchemas> {
    let frames = |group, sender| {
        MessageSchemas::new(DOOR, group, MessageTransport::WebSocket, sender).at(&["GET /ws"])
    };
    let from_agent = frames("from-agent", MessageSender::Client)
        .typed::<RegisterFrame<'_>>("register")
        .typed::<ListInput<'_>>("list")
        .typed_pair::<Receiver, OpeningFields>("send")
        .typed_pair::<Receiver, ChunkFields>("send_chunk")
        .typed_pair::<Receiver, EndFields>("send_end")
        .typed_pair::<Receiver, OpeningFields>("reply")
        .typed_pair::<Receiver, ChunkFields>("reply_chunk")
        .typed_pair::<Receiver, EndFields>("reply_end")
        .typed_pair::<Receiver, CancelFields>("cancel")
        .typed_pair::<Receiver, FailureFields>("error")
        .bare("ping");
    let from_hub = frames("from-hub", MessageSender::Hub)
        .typed::<RegisteredFrame<'_>>("registered")
        .typed::<AgentsFrame<'_>>("agents")
        .typed_pair::<Sender, OpeningFields>("message")
        .typed_pair::<Sender, ChunkFields>("message_chunk")
        .typed_pair::<Sender, EndFields>("message_end")
        .typed_pair::<Sender, OpeningFields>("reply")
        .typed_pair::<Sender, ChunkFields>("reply_chunk")
        .typed_pair::<Sender, EndFields>("reply_end")
        .typed_pair::<Sender, CancelFields>("cancel")
        .typed::<ErrorFrame<'_>>("error")
        .bare("pong");
    vec![from_agent, from_hub]
}

#[cfg(test)]
mod tests {
    use super::{super::downlink::DeliveryKind, *};
    use crate::wire::{AgoraDownlink, uplink::TYPES};

    #[test]
    fn every_frame_of_a_client_has_a_schema() {
        assert!(schemas()[0].names().eq(TYPES));
    }

    /// Whether a frame of the hub has a schema of its own type: a new type does not compile without an answer.
    fn name_of(frame: &AgoraDownlink<'_>) -> Option<&'static str> {
        Some(match frame {
            AgoraDownlink::Registered(_) => "registered",
            AgoraDownlink::Agents(_) => "agents",
            AgoraDownlink::Error(_) => "error",
            AgoraDownlink::Pong => "pong",
            AgoraDownlink::Delivery(delivered) => match delivered.kind {
                DeliveryKind::Message => "message",
                DeliveryKind::MessageChunk => "message_chunk",
                DeliveryKind::MessageEnd => "message_end",
                DeliveryKind::Reply => "reply",
                DeliveryKind::ReplyChunk => "reply_chunk",
                DeliveryKind::ReplyEnd => "reply_end",
                DeliveryKind::Cancel => "cancel",
            },
            AgoraDownlink::Unknown(_) => return None,
        })
    }

    #[test]
    fn every_frame_of_the_hub_has_a_schema() {
        let schemas = schemas();
        for name in schemas[1].names() {
            let frame = format!(
                r#"{{"type":"{name}","from":"a","id":"a","agents":[],"stream_id":"s","chunk":""}}"#
            );
            let frame = crate::wire::parse_downlink(&frame).unwrap();
            assert_eq!(name_of(&frame), Some(name), "{frame:?}");
        }
        assert_eq!(schemas[1].names().count(), 11);
    }
}
