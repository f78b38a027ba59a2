//! The frames that both directions share, written once: the peer is `to` on the way up and `from` on the way down.
//!
//! The public builders in [`uplink`](super::uplink) and [`downlink`](super::downlink) name the frame type; the fields
//! and their order are decided here, in the order of the seed's examples.

use serde_json::value::RawValue;

use super::Payload;
use crate::json::{ObjectWriter, Text};

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

/// Whom a frame is for, seen from a client, or whom it is from, seen from the hub.
#[derive(Clone, Copy)]
pub(crate) enum Peer<'a> {
    To(&'a str),
    From(&'a str),
}

impl Peer<'_> {
    fn id(&self) -> &str {
        match self {
            Peer::To(id) | Peer::From(id) => id,
        }
    }
}

/// Room for braces, field names and a frame type; ids and texts come on top.
const OVERHEAD: usize = 96;

/// Writes one frame of the given type into a string of about the right size.
pub(crate) fn frame(
    frame_type: &str,
    size_hint: usize,
    fill: impl FnOnce(&mut ObjectWriter<'_>),
) -> String {
    let mut out = String::with_capacity(OVERHEAD + size_hint);
    let mut object = ObjectWriter::open(&mut out);
    object.text("type", frame_type);
    fill(&mut object);
    object.close();
    out
}

fn put_peer(object: &mut ObjectWriter<'_>, peer: Peer<'_>) {
    match peer {
        Peer::To(id) => object.text("to", id),
        Peer::From(id) => object.text("from", id),
    };
}

fn put_payload(object: &mut ObjectWriter<'_>, payload: Option<Payload<'_>>) {
    if let Some(payload) = payload {
        payload.put(object);
    }
}

fn hint(payload: Option<Payload<'_>>) -> usize {
    payload.map_or(0, |payload| payload.size_hint())
}

/// A `send`, `message` or `reply`.
pub(crate) fn opening(frame_type: &str, peer: Peer<'_>, opening: &Opening<'_>) -> String {
    let size = peer.id().len() + hint(opening.payload) + OVERHEAD;
    frame(frame_type, size, |object| {
        put_peer(object, peer);
        object.maybe_text("stream_id", opening.stream_id);
        if opening.stream {
            object.flag("stream", true);
        }
        object.maybe_text("request_id", opening.request_id);
        put_payload(object, opening.payload);
        object
            .maybe_text("caller", opening.caller)
            .maybe_raw("metadata", opening.metadata);
    })
}

/// A `send_chunk`, `message_chunk` or `reply_chunk`.
pub(crate) fn chunk(
    frame_type: &str,
    peer: Peer<'_>,
    stream_id: &str,
    chunk: &Chunk<'_>,
) -> String {
    let size = peer.id().len() + stream_id.len() + chunk.text.size_hint();
    frame(frame_type, size, |object| {
        put_peer(object, peer);
        object
            .text("stream_id", stream_id)
            .text("chunk", chunk.text)
            .maybe_text("kind", chunk.kind)
            .maybe_text("tool_name", chunk.tool_name)
            .maybe_text("tool_call_id", chunk.tool_call_id);
    })
}

/// A `send_end`, `message_end` or `reply_end`.
pub(crate) fn end(
    frame_type: &str,
    peer: Peer<'_>,
    stream_id: &str,
    payload: Option<Payload<'_>>,
) -> String {
    let size = peer.id().len() + stream_id.len() + hint(payload);
    frame(frame_type, size, |object| {
        put_peer(object, peer);
        object.text("stream_id", stream_id);
        put_payload(object, payload);
    })
}

/// A `cancel`.
pub(crate) fn cancel(peer: Peer<'_>, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    frame("cancel", OVERHEAD, |object| {
        put_peer(object, peer);
        object
            .maybe_text("stream_id", stream_id)
            .maybe_text("request_id", request_id);
    })
}
