//! Frames of Agora clients: reading them at the hub, forwarding them to the receiver, and writing them in a
//! client.
//!
//! [`parse`] and [`Relay::forward_parts`] are the hot path of the hub: one pass over the text, with known fields
//! checked, payload and chunk left raw, and no allocation. The form of ids is not checked here.

use std::borrow::Cow;

use jackfield_wire::{
    json::{self, RawMembers},
    read::{FieldError, text, texts},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::fields::{ExtraField, FieldSlot, RawFields};
use super::payload::ANSWER_KEYS;
use super::{CALL_PREFIX, FrameError, FrameFault, FrameLimits};

mod build;

pub use build::{
    cancel, error, list, ping, register, reply, reply_chunk, reply_end, send, send_chunk, send_end,
};

/// Types of all frames from clients.
pub(crate) const TYPES: [&str; 11] = [
    "register",
    "list",
    "send",
    "send_chunk",
    "send_end",
    "reply",
    "reply_chunk",
    "reply_end",
    "cancel",
    "error",
    "ping",
];

/// A frame from a client.
#[derive(Debug, Clone)]
pub enum AgoraUplink<'a> {
    /// Registers or updates an agent of the hub.
    Register(RegisterFrame<'a>),
    /// Asks for the list of agents.
    List(ListFrame<'a>),
    /// A frame for a different agent.
    Relay(Relay<'a>),
    /// Asks for a `pong`.
    Ping,
}

/// The registration of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "register")]
#[derive(utoipa::ToSchema)]
pub struct RegisterFrame<'a> {
    /// Requested id; its alphabet is not checked here.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Display name.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// Further address of the agent.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub endpoint: Option<Cow<'a, str>>,
    /// Description of the agent's work.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Cow<'a, str>>,
    /// Kind of the agent: a model, a framework, a tool.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub agent_type: Option<Cow<'a, str>>,
    /// Token that proves the owner.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub token: Option<Cow<'a, str>>,
    /// Tags for discovery.
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub capabilities: Vec<Cow<'a, str>>,
}

/// A query for the agents with all of the given capabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "list")]
pub struct ListFrame<'a> {
    /// Capabilities to filter by, from `capability` and `capabilities` together; empty asks for all agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Cow<'a, str>>,
}

/// Types of relayed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelayKind {
    /// A message, or the start of a streamed one.
    Send,
    /// A chunk of a streamed message.
    SendChunk,
    /// The end of a streamed message.
    SendEnd,
    /// An answer, or the start of a streamed one.
    Reply,
    /// A chunk of a streamed answer.
    ReplyChunk,
    /// The end of a streamed answer.
    ReplyEnd,
    /// Asks to stop a request or stream.
    Cancel,
    /// Reports that a request or stream failed.
    Error,
}

impl RelayKind {
    fn of(frame_type: &str) -> Option<Self> {
        Some(match frame_type {
            "send" => RelayKind::Send,
            "send_chunk" => RelayKind::SendChunk,
            "send_end" => RelayKind::SendEnd,
            "reply" => RelayKind::Reply,
            "reply_chunk" => RelayKind::ReplyChunk,
            "reply_end" => RelayKind::ReplyEnd,
            "cancel" => RelayKind::Cancel,
            "error" => RelayKind::Error,
            _ => return None,
        })
    }

    /// Returns the `type` of a client's frame.
    pub fn name(self) -> &'static str {
        match self {
            RelayKind::Send => "send",
            RelayKind::SendChunk => "send_chunk",
            RelayKind::SendEnd => "send_end",
            RelayKind::Reply => "reply",
            RelayKind::ReplyChunk => "reply_chunk",
            RelayKind::ReplyEnd => "reply_end",
            RelayKind::Cancel => "cancel",
            RelayKind::Error => "error",
        }
    }

    /// Returns the start of the forwarded frame, up to the value of `from`.
    fn head(self) -> &'static str {
        match self {
            RelayKind::Send => r#"{"type":"message","from":"#,
            RelayKind::SendChunk => r#"{"type":"message_chunk","from":"#,
            RelayKind::SendEnd => r#"{"type":"message_end","from":"#,
            RelayKind::Reply => r#"{"type":"reply","from":"#,
            RelayKind::ReplyChunk => r#"{"type":"reply_chunk","from":"#,
            RelayKind::ReplyEnd => r#"{"type":"reply_end","from":"#,
            RelayKind::Cancel => r#"{"type":"cancel","from":"#,
            RelayKind::Error => r#"{"type":"error","from":"#,
        }
    }

    /// Returns whether frames of this type carry a `chunk`.
    pub fn is_chunk(self) -> bool {
        matches!(self, RelayKind::SendChunk | RelayKind::ReplyChunk)
    }

    /// Returns whether frames of this type end a stream.
    pub fn is_end(self) -> bool {
        matches!(self, RelayKind::SendEnd | RelayKind::ReplyEnd)
    }

    /// Returns whether frames of this type travel from the called agent back to the caller.
    pub fn is_reply(self) -> bool {
        matches!(
            self,
            RelayKind::Reply | RelayKind::ReplyChunk | RelayKind::ReplyEnd
        )
    }
}

/// A frame for a different agent; fields that the hub does not need keep their original bytes.
#[derive(Debug, Clone)]
pub struct Relay<'a> {
    /// Type of the frame.
    pub kind: RelayKind,
    /// Id of the receiver.
    pub to: Cow<'a, str>,
    /// Id of the stream that the frame starts or belongs to.
    pub stream_id: Option<Cow<'a, str>>,
    /// Whether chunks follow.
    pub stream: bool,
    /// Request id at the top level; see [`Relay::payload_request_id`] for the one in the payload.
    pub request_id: Option<Cow<'a, str>>,
    /// JSON string of a chunk frame, undecoded; `None` in other frames.
    pub chunk: Option<&'a str>,
    fields: RawFields<'a>,
}

/// Fields forwarded unchanged, in this order; `from` and `caller` are never forwarded.
const FORWARDED: [(FieldSlot, &str); 7] = [
    (FieldSlot::StreamId, ",\"stream_id\":"),
    (FieldSlot::Stream, ",\"stream\":"),
    (FieldSlot::RequestId, ",\"request_id\":"),
    (FieldSlot::Payload, ",\"payload\":"),
    (FieldSlot::Chunk, ",\"chunk\":"),
    (FieldSlot::Code, ",\"code\":"),
    (FieldSlot::Message, ",\"message\":"),
];

impl<'a> Relay<'a> {
    /// Returns the frame for the receiver: `from` replaces `to`, all other values keep their bytes.
    ///
    /// A `from` or `caller` of the client is dropped: the hub alone states the sender.
    pub fn forward(&self, from: &str) -> String {
        let from = json::quoted(from);
        let mut out = String::with_capacity(self.forwarded_len(&from));
        self.forward_parts(&from, |part| out.push_str(part));
        out
    }

    /// Calls `part` for the parts of the frame for the receiver, in their order. `from` is a JSON string, quotes
    /// included.
    #[inline]
    pub fn forward_parts(&self, from: &str, mut part: impl FnMut(&str)) {
        part(self.kind.head());
        part(from);
        for (slot, key) in FORWARDED {
            if let Some(raw) = self.fields.raw(slot) {
                part(key);
                part(raw);
            }
        }
        for field in &self.fields.extra {
            part(",");
            part(&field.quoted_name);
            part(":");
            part(field.value);
        }
        part("}");
    }

    /// Returns the length of the forwarded frame; `from` is a JSON string, quotes included.
    pub fn forwarded_len(&self, from: &str) -> usize {
        let mut length = 0;
        self.forward_parts(from, |part| length += part.len());
        length
    }

    /// Returns the fields unknown to this protocol, in their order.
    pub fn extra(&self) -> &[ExtraField<'a>] {
        &self.fields.extra
    }

    /// Returns the payload, unread; `null` counts as absent.
    pub fn payload(&self) -> Option<&'a RawValue> {
        self.fields.payload()
    }

    /// Returns the decoded text of a chunk.
    pub fn chunk_text(&self) -> Option<Cow<'a, str>> {
        self.chunk.and_then(json::decode)
    }

    /// Returns the kind of a chunk (`kind`), if given.
    pub fn chunk_kind(&self) -> Option<Cow<'a, str>> {
        self.extra_text("kind")
    }

    /// Returns the tool name of a chunk.
    pub fn tool_name(&self) -> Option<Cow<'a, str>> {
        self.extra_text("tool_name")
    }

    /// Returns the tool call id of a chunk.
    pub fn tool_call_id(&self) -> Option<Cow<'a, str>> {
        self.extra_text("tool_call_id")
    }

    /// Returns the code of an `error`.
    pub fn code(&self) -> Option<Cow<'a, str>> {
        self.fields.lenient_text(FieldSlot::Code)
    }

    /// Returns the message of an `error`.
    pub fn message(&self) -> Option<Cow<'a, str>> {
        self.fields.lenient_text(FieldSlot::Message)
    }

    /// Returns the `request_id` inside the payload, which is parsed on every call.
    pub fn payload_request_id(&self) -> Option<Cow<'a, str>> {
        self.payload()
            .and_then(RawMembers::of)
            .and_then(|members| members.text("request_id"))
    }

    /// Returns the name of an answer's field that stands beside the payload instead of inside, where no
    /// reader looks.
    pub fn answer_beside_payload(&self) -> Option<&'static str> {
        let is_there = |name: &str| match name {
            "message" => self.fields.get(FieldSlot::Message).is_some(),
            _ => {
                let mut extra = self.fields.extra.iter();
                extra.any(|field| field.name == name && field.value != "null")
            }
        };
        let mut names = ANSWER_KEYS.into_iter().chain(["body"]);
        names.find(|name| is_there(name))
    }

    /// Returns the request id, from the top level or else from the payload.
    pub fn any_request_id(&self) -> Option<Cow<'a, str>> {
        self.request_id
            .clone()
            .or_else(|| self.payload_request_id())
    }

    /// Returns the text of an unknown field, if present and a string.
    pub fn extra_text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.fields
            .extra
            .iter()
            .find(|field| field.name == name)
            .and_then(|field| json::decode(field.value))
    }
}

/// Reads a frame from a client within the default [`FrameLimits`].
pub fn parse(text: &str) -> Result<AgoraUplink<'_>, FrameError> {
    parse_with(text, &FrameLimits::default())
}

/// Reads a frame from a client.
pub fn parse_with<'a>(text: &'a str, limits: &FrameLimits) -> Result<AgoraUplink<'a>, FrameError> {
    let mut fields = RawFields::default();
    fields.fill(text)?;
    fields.check(limits)?;
    let frame_type = fields.required_text(FieldSlot::Type)?;
    if let Some(kind) = RelayKind::of(&frame_type) {
        return read_relay(kind, fields, limits);
    }
    match &*frame_type {
        "register" => fields.frame(text).map(AgoraUplink::Register),
        "list" => fields.frame(text).map(list_of).map(AgoraUplink::List),
        "ping" => Ok(AgoraUplink::Ping),
        other => Err(FrameError {
            fault: FrameFault::Unsupported,
            ..fields.refuse(FieldError::invalid("type", no_frame(other)))
        }),
    }
}

/// Returns the error for a frame type that clients do not send.
#[cold]
fn no_frame(frame_type: &str) -> String {
    let turned = |send: &str, reply: &str| {
        format!("is what you receive; what you send is {send:?}, or {reply:?} to answer")
    };
    match frame_type {
        "message" => turned("send", "reply"),
        "message_chunk" => turned("send_chunk", "reply_chunk"),
        "message_end" => turned("send_end", "reply_end"),
        _ => format!(
            "is not a known frame type; clients send {}",
            TYPES.join(", ")
        ),
    }
}

/// A `list` as clients send it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ListInput<'a> {
    /// Capability to filter by.
    #[serde(borrow, default, deserialize_with = "text")]
    capability: Option<Cow<'a, str>>,
    /// Capabilities to filter by.
    #[serde(default, deserialize_with = "texts")]
    capabilities: Vec<Cow<'a, str>>,
}

fn list_of(list: ListInput<'_>) -> ListFrame<'_> {
    let mut capabilities = list.capabilities;
    if let Some(capability) = list.capability
        && !capabilities.contains(&capability)
    {
        capabilities.push(capability);
    }
    ListFrame { capabilities }
}

fn read_relay<'a>(
    kind: RelayKind,
    fields: RawFields<'a>,
    limits: &FrameLimits,
) -> Result<AgoraUplink<'a>, FrameError> {
    let to = fields.required_text(FieldSlot::To)?;
    let stream_id = fields.text(FieldSlot::StreamId)?;
    let stream = fields.flag(FieldSlot::Stream)?;
    let request_id = fields.text(FieldSlot::RequestId)?;
    // The address of a call already identifies the call.
    let is_about_call = to.starts_with(CALL_PREFIX);
    let needs_stream_id = match kind {
        _ if is_about_call => false,
        RelayKind::Send | RelayKind::Reply | RelayKind::Error => stream,
        RelayKind::Cancel => stream || request_id.is_none(),
        RelayKind::SendChunk | RelayKind::SendEnd | RelayKind::ReplyChunk | RelayKind::ReplyEnd => {
            true
        }
    };
    if needs_stream_id && stream_id.is_none() {
        return Err(if kind == RelayKind::Cancel && !stream {
            let problem = "or \"request_id\" is required";
            fields.invalid(FieldSlot::StreamId, problem)
        } else {
            fields.missing(FieldSlot::StreamId)
        });
    }
    let chunk = if kind.is_chunk() {
        Some(read_chunk(&fields, limits)?)
    } else {
        None
    };
    if kind == RelayKind::Error {
        fields.required_text(FieldSlot::Code)?;
        fields.required_text(FieldSlot::Message)?;
    }
    Ok(AgoraUplink::Relay(Relay {
        kind,
        to,
        stream_id,
        stream,
        request_id,
        chunk,
        fields,
    }))
}

/// Returns the chunk, undecoded: a string of an acceptable size.
fn read_chunk<'a>(fields: &RawFields<'a>, limits: &FrameLimits) -> Result<&'a str, FrameError> {
    let raw = fields
        .get(FieldSlot::Chunk)
        .ok_or_else(|| fields.missing(FieldSlot::Chunk))?;
    if !raw.starts_with('"') {
        return Err(fields.invalid(FieldSlot::Chunk, "must be a string"));
    }
    if raw.len() - "\"\"".len() > limits.max_chunk {
        let problem = format!("is larger than {} bytes", limits.max_chunk);
        return Err(FrameError {
            fault: FrameFault::TooLarge,
            ..fields.refuse(FieldError::invalid(FieldSlot::Chunk.name(), problem))
        });
    }
    Ok(raw)
}
