//! Frames of a client, as text ready for the socket. Only clients call these functions, never the hub. The
//! serialized types define the fields and their order.

use jackfield_wire::json::to_json;

use super::super::frame::{OVERHEAD, OutgoingFrame};
use super::super::{ErrorFrame, FrameChunk, FramePayload, Opening};
use super::{ListFrame, RegisterFrame};

/// Writes a `register` frame.
pub fn register(register: &RegisterFrame<'_>) -> String {
    to_json(register, OVERHEAD)
}

/// Writes a `list` frame.
pub fn list(list: &ListFrame<'_>) -> String {
    to_json(list, OVERHEAD)
}

/// Writes a `ping` frame.
pub fn ping() -> String {
    OutgoingFrame::bare("ping")
}

/// Writes a `send` frame.
pub fn send(to: &str, opening: &Opening<'_>) -> String {
    OutgoingFrame::opening("send", opening).to(to)
}

/// Writes a `send_chunk` frame.
pub fn send_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<FrameChunk<'c>>) -> String {
    OutgoingFrame::chunk("send_chunk", stream_id, chunk.into()).to(to)
}

/// Writes a `send_end` frame.
pub fn send_end(to: &str, stream_id: &str) -> String {
    OutgoingFrame::end("send_end", stream_id, None).to(to)
}

/// Writes a `reply` frame.
pub fn reply(to: &str, opening: &Opening<'_>) -> String {
    OutgoingFrame::opening("reply", opening).to(to)
}

/// Writes a `reply_chunk` frame.
pub fn reply_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<FrameChunk<'c>>) -> String {
    OutgoingFrame::chunk("reply_chunk", stream_id, chunk.into()).to(to)
}

/// Writes a `reply_end` frame.
pub fn reply_end(to: &str, stream_id: &str, payload: Option<FramePayload<'_>>) -> String {
    OutgoingFrame::end("reply_end", stream_id, payload).to(to)
}

/// Writes a `cancel` frame; the hub requires at least one of the two ids.
pub fn cancel(to: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    OutgoingFrame::cancel(stream_id, request_id).to(to)
}

/// Writes an `error` frame for a different agent. `to` overrides the peers in `error`.
pub fn error(to: &str, error: &ErrorFrame<'_>) -> String {
    super::super::downlink::error(&ErrorFrame {
        to: Some(to.into()),
        from: None,
        ..error.clone()
    })
}
