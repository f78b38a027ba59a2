//! The frames a client sends, as text ready for the socket.
//! Clients call these; the hub never does. Fields and their order are decided by the types that are written.

use jackfield_wire::json::to_json;

use super::super::frame::{Frame, OVERHEAD};
use super::super::{Chunk, ErrorFrame, Opening, Payload};
use super::{List, Register};

/// A `register` frame.
pub fn register(register: &Register<'_>) -> String {
    to_json(register, OVERHEAD)
}

/// A `list` frame.
pub fn list(list: &List<'_>) -> String {
    to_json(list, OVERHEAD)
}

/// A `ping` frame.
pub fn ping() -> String {
    Frame::bare("ping")
}

/// A `send` frame.
pub fn send(to: &str, opening: &Opening<'_>) -> String {
    Frame::opening("send", opening).to(to)
}

/// A `send_chunk` frame.
pub fn send_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    Frame::chunk("send_chunk", stream_id, chunk.into()).to(to)
}

/// A `send_end` frame.
pub fn send_end(to: &str, stream_id: &str) -> String {
    Frame::end("send_end", stream_id, None).to(to)
}

/// A `reply` frame.
pub fn reply(to: &str, opening: &Opening<'_>) -> String {
    Frame::opening("reply", opening).to(to)
}

/// A `reply_chunk` frame.
pub fn reply_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    Frame::chunk("reply_chunk", stream_id, chunk.into()).to(to)
}

/// A `reply_end` frame.
pub fn reply_end(to: &str, stream_id: &str, payload: Option<Payload<'_>>) -> String {
    Frame::end("reply_end", stream_id, payload).to(to)
}

/// A `cancel` frame; the hub wants at least one of the two ids.
pub fn cancel(to: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    Frame::cancel(stream_id, request_id).to(to)
}

/// An `error` frame for another agent; it goes to `to`, whatever `error` says of its peers.
pub fn error(to: &str, error: &ErrorFrame<'_>) -> String {
    super::super::downlink::error(&ErrorFrame {
        to: Some(to.into()),
        from: None,
        ..error.clone()
    })
}
