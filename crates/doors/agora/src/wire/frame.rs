//! The frames that both directions share, written once: the peer is `to` on the way up and `from` on the way down.
//!
//! The public builders in [`uplink`](super::uplink) and [`downlink`](super::downlink) name the frame type; the fields
//! and their order are decided here, in the order of the seed's examples.

use std::ops::Not;

use jackfield_wire::json::{Text, to_json};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Payload;

/// What a `send`, `message` or `reply` frame says besides its type and peer; all of it is optional.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening<'a> {
    /// The id under which chunks follow, or to which this belongs.
    pub stream_id: Option<&'a str>,
    /// Whether chunks and an end follow; `false` is not written.
    pub stream: bool,
    /// A request id beside the one in the payload.
    pub request_id: Option<&'a str>,
    /// What is asked or answered.
    pub payload: Option<Payload<'a>>,
    /// The stable id of who is calling; only the hub's word counts.
    pub caller: Option<&'a str>,
    /// Whatever else the caller's protocol attached.
    pub metadata: Option<&'a RawValue>,
}

/// One piece of a stream: a text, and for replies what kind of text it is.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// The text itself.
    pub text: Text<'a>,
    /// Its kind if it is not plain text: `thinking`, `tool_start`, `tool_input`, `tool_result`, `status`.
    pub kind: Option<&'a str>,
    /// The tool it speaks of.
    pub tool_name: Option<&'a str>,
    /// The call of that tool it belongs to.
    pub tool_call_id: Option<&'a str>,
}

impl<'a, T: Into<Text<'a>>> From<T> for Chunk<'a> {
    /// A chunk of plain text.
    fn from(text: T) -> Self {
        Chunk {
            text: text.into(),
            kind: None,
            tool_name: None,
            tool_call_id: None,
        }
    }
}

/// Room for braces, field names and a frame type; ids and texts come on top.
pub(super) const OVERHEAD: usize = 192;

/// A frame as it is written; what is absent is left out.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Frame<'a> {
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
    payload: Option<Payload<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<Text<'a>>,
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

impl<'a> Frame<'a> {
    /// A frame that is only its type.
    pub(super) fn bare(frame_type: &'static str) -> String {
        to_json(
            &Frame {
                r#type: frame_type,
                ..Frame::default()
            },
            OVERHEAD,
        )
    }

    /// A `send`, `message` or `reply`.
    pub(super) fn opening(frame_type: &'static str, opening: &Opening<'a>) -> Self {
        Frame {
            r#type: frame_type,
            stream_id: opening.stream_id,
            stream: opening.stream,
            request_id: opening.request_id,
            payload: opening.payload,
            caller: opening.caller,
            metadata: opening.metadata,
            ..Frame::default()
        }
    }

    /// A `send_chunk`, `message_chunk` or `reply_chunk`.
    pub(super) fn chunk(frame_type: &'static str, stream_id: &'a str, chunk: Chunk<'a>) -> Self {
        Frame {
            r#type: frame_type,
            stream_id: Some(stream_id),
            chunk: Some(chunk.text),
            kind: chunk.kind,
            tool_name: chunk.tool_name,
            tool_call_id: chunk.tool_call_id,
            ..Frame::default()
        }
    }

    /// A `send_end`, `message_end` or `reply_end`.
    pub(super) fn end(
        frame_type: &'static str,
        stream_id: &'a str,
        payload: Option<Payload<'a>>,
    ) -> Self {
        Frame {
            r#type: frame_type,
            stream_id: Some(stream_id),
            payload,
            ..Frame::default()
        }
    }

    /// A `cancel`.
    pub(super) fn cancel(stream_id: Option<&'a str>, request_id: Option<&'a str>) -> Self {
        Frame {
            r#type: "cancel",
            stream_id,
            request_id,
            ..Frame::default()
        }
    }

    /// The text of the frame, as a client sends it.
    pub(super) fn to(self, to: &'a str) -> String {
        Frame {
            to: Some(to),
            ..self
        }
        .write()
    }

    /// The text of the frame, as the hub sends it.
    pub(super) fn from(self, from: &'a str) -> String {
        Frame {
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
