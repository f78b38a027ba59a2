//! Frames of a client, as text ready for the socket. Only clients call these functions, never the hub. The
//! serialized types define the fields and their order.

use jackfield_wire::json::to_json;

use super::super::frame::{Frame, OVERHEAD};
use super::super::{Chunk, ErrorFrame, Opening, Payload};
use super::{List, Register};

/// Writes a `register` frame.
pub fn register(register: &Register<'_>) -> String {
    to_json(register, OVERHEAD)
}

/// Writes a `list` frame.
pub fn list(list: &List<'_>) -> String {
    to_json(list, OVERHEAD)
}

/// Writes a `ping` frame.
pub fn ping() -> String {
    Frame::bare("ping")
}

/// Writes a `send` frame.
pub fn send(to: &str, opening: &Opening<'_>) -> String {
    Frame::opening("send", opening).to(to)
}

/// Writes a `send_chunk` frame.
pub fn send_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    Frame::chunk("send_chunk", stream_id, chunk.into()).to(to)
}

/// Writes a `send_end` frame.
pub fn send_end(to: &str, stream_id: &str) -> String {
    Frame::end("send_end", stream_id, None).to(to)
}

/// Writes a `reply` frame.
pub fn reply(to: &str, opening: &Opening<'_>) -> String {
    Frame::opening("reply", opening).to(to)
}

/// Writes a `reply_chunk` frame.
pub fn reply_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    Frame::chunk("reply_chunk", stream_id, chunk.into()).to(to)
}

/// Writes a `reply_end` frame.
pub fn reply_end(to: &str, stream_id: &str, payload: Option<Payload<'_>>) -> String {
    Frame::end("reply_end", stream_id, payload).to(to)
}

/// Writes a `cancel` frame; the hub requires at least one of the two ids.
pub fn cancel(to: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    Frame::cancel(stream_id, request_id).to(to)
}

/// Writes an `error` frame for a different agent. `to` overrides the peers in `error`.
pub fn error(to: &str, error: &ErrorFrame<'_>) -> String {
    super::super::downlink::error(&ErrorFrame {
        to: Some(to.into()),
        from: None,
        ..error.clone()
    })
}
