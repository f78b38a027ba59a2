//! The frames a client sends, as text ready for the socket.
//! Clients call these; the hub never does. Fields and their order are decided in `agora/frame.rs`.

use super::super::frame::{self, Peer, frame};
use super::super::{Chunk, ErrorFrame, Opening, Payload};
use super::{List, Register};

/// A `register` frame.
pub fn register(register: &Register<'_>) -> String {
    frame("register", register.id.len(), |object| {
        object
            .text("id", &*register.id)
            .maybe_text("name", register.name.as_deref())
            .maybe_text("endpoint", register.endpoint.as_deref())
            .maybe_text("description", register.description.as_deref())
            .maybe_text("agent_type", register.agent_type.as_deref())
            .maybe_text("token", register.token.as_deref());
        if !register.capabilities.is_empty() {
            object.texts("capabilities", &register.capabilities);
        }
    })
}

/// A `list` frame.
pub fn list(list: &List<'_>) -> String {
    frame("list", 0, |object| {
        if !list.capabilities.is_empty() {
            object.texts("capabilities", &list.capabilities);
        }
    })
}

/// A `ping` frame.
pub fn ping() -> String {
    frame("ping", 0, |_| {})
}

/// A `send` frame.
pub fn send(to: &str, opening: &Opening<'_>) -> String {
    frame::opening("send", Peer::To(to), opening)
}

/// A `send_chunk` frame.
pub fn send_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    frame::chunk("send_chunk", Peer::To(to), stream_id, &chunk.into())
}

/// A `send_end` frame.
pub fn send_end(to: &str, stream_id: &str) -> String {
    frame::end("send_end", Peer::To(to), stream_id, None)
}

/// A `reply` frame.
pub fn reply(to: &str, opening: &Opening<'_>) -> String {
    frame::opening("reply", Peer::To(to), opening)
}

/// A `reply_chunk` frame.
pub fn reply_chunk<'c>(to: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    frame::chunk("reply_chunk", Peer::To(to), stream_id, &chunk.into())
}

/// A `reply_end` frame.
pub fn reply_end(to: &str, stream_id: &str, payload: Option<Payload<'_>>) -> String {
    frame::end("reply_end", Peer::To(to), stream_id, payload)
}

/// A `cancel` frame; the hub wants at least one of the two ids.
pub fn cancel(to: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    frame::cancel(Peer::To(to), stream_id, request_id)
}

/// An `error` frame for another agent; it goes to `to`, whatever `error` says of its peers.
pub fn error(to: &str, error: &ErrorFrame<'_>) -> String {
    super::super::downlink::error(&ErrorFrame {
        to: Some(to.into()),
        from: None,
        ..error.clone()
    })
}
