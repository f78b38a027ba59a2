//! What the hub sends to Agora clients: writing it at the hub, and reading it in a client.
//!
//! Frames between two Agora agents are not built here but forwarded by [`Relay::forward`](super::Relay::forward).
//! Reading is lenient, so that a client outlives a newer hub: unknown types and fields are no mistakes.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{Fields, Slot};
use super::frame::{self, Peer, frame};
use super::{Chunk, Malformed, Opening, Payload};
use crate::json::{self, Member, Members, ObjectWriter};

/// An `error` frame; `from` and `to` say whose mistake it speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorFrame<'a> {
    /// The failure's name.
    pub code: Cow<'a, str>,
    /// What went wrong, for people.
    pub message: Cow<'a, str>,
    /// The agent that failed or left.
    pub from: Option<Cow<'a, str>>,
    /// The agent the refused frame was for.
    pub to: Option<Cow<'a, str>>,
    /// The stream that is over.
    pub stream_id: Option<Cow<'a, str>>,
    /// The request that is over.
    pub request_id: Option<Cow<'a, str>>,
    /// The field that was wrong.
    pub field: Option<Cow<'a, str>>,
    /// The type of the frame that was refused.
    pub frame_type: Option<Cow<'a, str>>,
}

impl<'a> ErrorFrame<'a> {
    /// An error that names neither peer nor stream.
    pub fn new(code: &'a str, message: &'a str) -> Self {
        ErrorFrame {
            code: code.into(),
            message: message.into(),
            ..ErrorFrame::default()
        }
    }
}

/// One agent in the answer to `list`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentEntry<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// Its name, or its id again.
    pub name: Cow<'a, str>,
    /// Where else it can be reached.
    pub endpoint: Option<Cow<'a, str>>,
    /// When it registered, in ISO 8601.
    pub registered_at: Cow<'a, str>,
    /// The tags it can be found by.
    pub capabilities: Vec<Cow<'a, str>>,
    /// Whether it can be called now.
    pub online: bool,
    /// The protocol it speaks, if not this one.
    pub door: Option<Cow<'a, str>>,
    /// What it does.
    pub description: Option<Cow<'a, str>>,
}

impl<'a> AgentEntry<'a> {
    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("id", &*self.id)
            .text("name", &*self.name)
            .maybe_text("endpoint", self.endpoint.as_deref())
            .text("registered_at", &*self.registered_at)
            .texts("capabilities", &self.capabilities)
            .flag("online", self.online)
            .maybe_text("door", self.door.as_deref())
            .maybe_text("description", self.description.as_deref());
        object.close();
    }

    /// Reads an entry; one without an id is of no use to anybody.
    fn read(raw: &'a RawValue) -> Option<Self> {
        let members = Members::of(raw)?;
        let id = members.text("id")?;
        let capabilities = members.get("capabilities").and_then(json::elements);
        Some(AgentEntry {
            name: members.text("name").unwrap_or_else(|| id.clone()),
            id,
            endpoint: members.text("endpoint"),
            registered_at: members.text("registered_at").unwrap_or_default(),
            capabilities: capabilities
                .into_iter()
                .flatten()
                .filter_map(json::str_of)
                .collect(),
            // A hub that does not say lists only who is there.
            online: members.get("online").is_none_or(|raw| raw.get() != "false"),
            door: members.text("door"),
            description: members.text("description"),
        })
    }
}

/// A `registered` frame.
pub fn registered(id: &str) -> String {
    frame("registered", id.len(), |object| {
        object.text("id", id);
    })
}

/// An `agents` frame.
pub fn agents(entries: &[AgentEntry<'_>]) -> String {
    const ENTRY: usize = 192;
    frame("agents", entries.len() * ENTRY, |object| {
        object.list("agents", entries, |out, entry| entry.write(out));
    })
}

/// A `pong` frame.
pub fn pong() -> String {
    frame("pong", 0, |_| {})
}

/// A `message` frame.
pub fn message(from: &str, opening: &Opening<'_>) -> String {
    frame::opening("message", Peer::From(from), opening)
}

/// A `message_chunk` frame.
pub fn message_chunk<'c>(from: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    frame::chunk("message_chunk", Peer::From(from), stream_id, &chunk.into())
}

/// A `message_end` frame.
pub fn message_end(from: &str, stream_id: &str) -> String {
    frame::end("message_end", Peer::From(from), stream_id, None)
}

/// A `reply` frame.
pub fn reply(from: &str, opening: &Opening<'_>) -> String {
    frame::opening("reply", Peer::From(from), opening)
}

/// A `reply_chunk` frame.
pub fn reply_chunk<'c>(from: &str, stream_id: &str, chunk: impl Into<Chunk<'c>>) -> String {
    frame::chunk("reply_chunk", Peer::From(from), stream_id, &chunk.into())
}

/// A `reply_end` frame.
pub fn reply_end(from: &str, stream_id: &str, payload: Option<Payload<'_>>) -> String {
    frame::end("reply_end", Peer::From(from), stream_id, payload)
}

/// A `cancel` frame.
pub fn cancel(from: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    frame::cancel(Peer::From(from), stream_id, request_id)
}

/// An `error` frame.
pub fn error(error: &ErrorFrame<'_>) -> String {
    frame(
        "error",
        error.code.len() + 2 * error.message.len(),
        |object| {
            object
                .text("code", &*error.code)
                .text("message", &*error.message)
                .maybe_text("from", error.from.as_deref())
                .maybe_text("to", error.to.as_deref())
                .maybe_text("stream_id", error.stream_id.as_deref())
                .maybe_text("request_id", error.request_id.as_deref())
                .maybe_text("field", error.field.as_deref())
                .maybe_text("frame_type", error.frame_type.as_deref());
        },
    )
}

/// A frame from the hub.
#[derive(Debug, Clone)]
pub enum Downlink<'a> {
    /// The agent is known under this id now.
    Registered(Cow<'a, str>),
    /// The answer to `list`.
    Agents(Vec<AgentEntry<'a>>),
    /// Something from another agent.
    Delivery(Delivery<'a>),
    /// Something failed, at the hub or at another agent.
    Error(ErrorFrame<'a>),
    /// The answer to `ping`.
    Pong,
    /// A frame of a type this client does not know.
    Unknown(Cow<'a, str>),
}

/// The frame types that come from other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryKind {
    /// A message, or the start of a streamed one.
    Message,
    /// A piece of a streamed message.
    MessageChunk,
    /// The end of a streamed message.
    MessageEnd,
    /// An answer, or the start of a streamed one.
    Reply,
    /// A piece of a streamed answer.
    ReplyChunk,
    /// The end of a streamed answer.
    ReplyEnd,
    /// The wish that a request or stream stop.
    Cancel,
}

impl DeliveryKind {
    fn of(frame_type: &str) -> Option<Self> {
        Some(match frame_type {
            "message" => DeliveryKind::Message,
            "message_chunk" => DeliveryKind::MessageChunk,
            "message_end" => DeliveryKind::MessageEnd,
            "reply" => DeliveryKind::Reply,
            "reply_chunk" => DeliveryKind::ReplyChunk,
            "reply_end" => DeliveryKind::ReplyEnd,
            "cancel" => DeliveryKind::Cancel,
            _ => return None,
        })
    }
}

/// A frame from another agent, as the receiver sees it.
#[derive(Debug, Clone)]
pub struct Delivery<'a> {
    /// What it is.
    pub kind: DeliveryKind,
    /// Who sent it, and where an answer goes.
    pub from: Cow<'a, str>,
    /// The stable id of who is calling, if that differs from `from`.
    pub caller: Option<Cow<'a, str>>,
    /// The stream it starts or belongs to.
    pub stream_id: Option<Cow<'a, str>>,
    /// Whether chunks follow.
    pub stream: bool,
    /// The request id at the top level.
    pub request_id: Option<Cow<'a, str>>,
    /// The payload, unread; see [`query_of`](super::query_of) and [`answer_of`](super::answer_of).
    pub payload: Option<&'a RawValue>,
    /// The text of a chunk.
    pub chunk: Option<Cow<'a, str>>,
    /// All other fields, in their order.
    pub extra: Vec<Member<'a>>,
}

impl<'a> Delivery<'a> {
    /// The text of one of the other fields, such as `kind` or `tool_name`.
    pub fn extra_text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.extra
            .iter()
            .find(|member| member.name == name)
            .and_then(|member| json::str_of(member.value))
    }
}

/// Reads a frame from the hub; only what a client cannot do without is required.
pub fn parse_downlink(text: &str) -> Result<Downlink<'_>, Malformed> {
    let mut fields = Fields::default();
    fields.fill(text)?;
    let frame_type = fields.required_text(Slot::Type)?;
    if let Some(kind) = DeliveryKind::of(&frame_type) {
        return read_delivery(kind, fields).map(Downlink::Delivery);
    }
    Ok(match &*frame_type {
        "registered" => Downlink::Registered(fields.required_text("id")?),
        "agents" => Downlink::Agents(read_agents(&fields)?),
        "error" => Downlink::Error(read_error(&fields)),
        "pong" => Downlink::Pong,
        _ => Downlink::Unknown(frame_type),
    })
}

fn read_agents<'a>(fields: &Fields<'a>) -> Result<Vec<AgentEntry<'a>>, Malformed> {
    let entries = fields
        .value("agents")?
        .and_then(json::elements)
        .ok_or_else(|| fields.invalid("agents", "must be an array"))?;
    Ok(entries.into_iter().filter_map(AgentEntry::read).collect())
}

fn read_error<'a>(fields: &Fields<'a>) -> ErrorFrame<'a> {
    ErrorFrame {
        code: fields.lenient_text(Slot::Code).unwrap_or_default(),
        message: fields.lenient_text(Slot::Message).unwrap_or_default(),
        from: fields.lenient_text(Slot::From),
        to: fields.lenient_text(Slot::To),
        stream_id: fields.lenient_text(Slot::StreamId),
        request_id: fields.lenient_text(Slot::RequestId),
        field: fields.lenient_text("field"),
        frame_type: fields.lenient_text("frame_type"),
    }
}

fn read_delivery(kind: DeliveryKind, fields: Fields<'_>) -> Result<Delivery<'_>, Malformed> {
    let (needs_stream_id, needs_chunk) = match kind {
        DeliveryKind::MessageChunk | DeliveryKind::ReplyChunk => (true, true),
        DeliveryKind::MessageEnd | DeliveryKind::ReplyEnd => (true, false),
        DeliveryKind::Message | DeliveryKind::Reply | DeliveryKind::Cancel => (false, false),
    };
    let stream_id = fields.lenient_text(Slot::StreamId);
    if needs_stream_id && stream_id.is_none() {
        return Err(fields.missing("stream_id"));
    }
    let chunk = if needs_chunk {
        Some(fields.required_text(Slot::Chunk)?)
    } else {
        None
    };
    Ok(Delivery {
        kind,
        from: fields.required_text(Slot::From)?,
        caller: fields.lenient_text(Slot::Caller),
        stream_id,
        stream: fields
            .raw(Slot::Stream)
            .is_some_and(|raw| raw.get() == "true"),
        request_id: fields.lenient_text(Slot::RequestId),
        payload: fields.get(Slot::Payload),
        chunk,
        extra: fields.extra,
    })
}
