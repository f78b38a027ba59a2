//! The frames shared by both directions: the peer is `to` in frames of a client and `from` in frames of the
//! hub.
//!
//! The public functions in [`uplink`](super::uplink) and [`downlink`](super::downlink) choose the frame type.
//! This module defines the fields and their order, which follows the examples of the seed.

use std::ops::Not;

use jackfield_wire::json::{JsonText, to_json};
use serde::Serialize;
use serde_json::value::RawValue;

use super::FramePayload;

/// The optional fields of a `send`, `message` or `reply` frame, besides type and peer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening<'a> {
    /// Id of the stream that the frame starts or belongs to.
    pub stream_id: Option<&'a str>,
    /// Whether chunks and an end follow; `false` is not written.
    pub stream: bool,
    /// Request id at the top level, beside the one in the payload.
    pub request_id: Option<&'a str>,
    /// Query or answer.
    pub payload: Option<FramePayload<'a>>,
    /// Stable id of the caller; only the hub's value counts.
    pub caller: Option<&'a str>,
    /// Metadata of the caller's protocol.
    pub metadata: Option<&'a RawValue>,
}

/// One chunk of a stream: a text, and for replies its kind.
#[derive(Debug, Clone, Copy)]
pub struct FrameChunk<'a> {
    /// Text of the chunk.
    pub text: JsonText<'a>,
    /// Kind of a chunk other than plain text: `thinking`, `tool_start`, `tool_input`, `tool_result`,
    /// `status`.
    pub kind: Option<&'a str>,
    /// Name of the tool.
    pub tool_name: Option<&'a str>,
    /// Id of the tool call.
    pub tool_call_id: Option<&'a str>,
}

impl<'a, T: Into<JsonText<'a>>> From<T> for FrameChunk<'a> {
    /// Creates a chunk of plain text.
    fn from(text: T) -> Self {
        FrameChunk {
            text: text.into(),
            kind: None,
            tool_name: None,
            tool_call_id: None,
        }
    }
}

/// Capacity for braces, field names and the frame type; ids and texts are added.
pub(super) const OVERHEAD: usize = 192;

/// A frame for writing; absent fields are omitted.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct OutgoingFrame<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<FramePayload<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<JsonText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
}

impl<'a> OutgoingFrame<'a> {
    /// Writes a frame with a type and no other field.
    pub(super) fn bare(frame_type: &'static str) -> String {
        to_json(
            &OutgoingFrame {
                r#type: frame_type,
                ..OutgoingFrame::default()
            },
            OVERHEAD,
        )
    }

    /// Creates a `send`, `message` or `reply`.
    pub(super) fn opening(frame_type: &'static str, opening: &Opening<'a>) -> Self {
        OutgoingFrame {
            r#type: frame_type,
            stream_id: opening.stream_id,
            stream: opening.stream,
            request_id: opening.request_id,
            payload: opening.payload,
            caller: opening.caller,
            metadata: opening.metadata,
            ..OutgoingFrame::default()
        }
    }

    /// Creates a `send_chunk`, `message_chunk` or `reply_chunk`.
    pub(super) fn chunk(
        frame_type: &'static str,
        stream_id: &'a str,
        chunk: FrameChunk<'a>,
    ) -> Self {
        OutgoingFrame {
            r#type: frame_type,
            stream_id: Some(stream_id),
            chunk: Some(chunk.text),
            kind: chunk.kind,
            tool_name: chunk.tool_name,
            tool_call_id: chunk.tool_call_id,
            ..OutgoingFrame::default()
        }
    }

    /// Creates a `send_end`, `message_end` or `reply_end`.
    pub(super) fn end(
        frame_type: &'static str,
        stream_id: &'a str,
        payload: Option<FramePayload<'a>>,
    ) -> Self {
        OutgoingFrame {
            r#type: frame_type,
            stream_id: Some(stream_id),
            payload,
            ..OutgoingFrame::default()
        }
    }

    /// Creates a `cancel`.
    pub(super) fn cancel(stream_id: Option<&'a str>, request_id: Option<&'a str>) -> Self {
        OutgoingFrame {
            r#type: "cancel",
            stream_id,
            request_id,
            ..OutgoingFrame::default()
        }
    }

    /// Writes the frame in the form of a client.
    pub(super) fn to(self, to: &'a str) -> String {
        OutgoingFrame {
            to: Some(to),
            ..self
        }
        .write()
    }

    /// Writes the frame in the form of the hub.
    pub(super) fn from(self, from: &'a str) -> String {
        OutgoingFrame {
            from: Some(from),
            ..self
        }
        .write()
    }

    fn write(&self) -> String {
        let len = |text: Option<&str>| text.map_or(0, str::len);
        let size = OVERHEAD
            + len(self.to)
            + len(self.from)
            + len(self.stream_id)
            + self.chunk.map_or(0, |text| text.size_hint())
            + self.payload.map_or(0, |payload| payload.size_hint());
        to_json(self, size)
    }
}
