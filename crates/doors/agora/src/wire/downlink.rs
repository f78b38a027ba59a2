//! Frames of the hub for Agora clients: writing them at the hub, and reading them in a client.
//!
//! Frames between two Agora agents are not built here but forwarded by
//! [`Relay::forward`](super::Relay::forward). Reading is lenient, so that a client works with a newer hub:
//! unknown types and fields are no errors.

use std::borrow::Cow;

use jackfield_wire::{
    json::{self, RawMember, to_json},
    read::{FieldError, OpenObject, lenient, lenient_text, lenient_texts, read, read_part},
};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::fields::RawFields;
use super::frame::{OVERHEAD, OutgoingFrame};
use super::{FrameChunk, FrameError, FramePayload, Opening};

/// An `error` frame; `from` and `to` name the agents concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error")]
#[derive(utoipa::ToSchema)]
pub struct ErrorFrame<'a> {
    /// Name of the failure.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub code: Cow<'a, str>,
    /// Description of the failure, for people.
    #[serde(default, deserialize_with = "lenient_text")]
    pub message: Cow<'a, str>,
    /// Agent that failed or left.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub from: Option<Cow<'a, str>>,
    /// Receiver of the refused frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub to: Option<Cow<'a, str>>,
    /// Stream that is over.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub stream_id: Option<Cow<'a, str>>,
    /// Request that is over.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub request_id: Option<Cow<'a, str>>,
    /// Wrong field.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub field: Option<Cow<'a, str>>,
    /// Type of the refused frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub frame_type: Option<Cow<'a, str>>,
}

impl<'a> ErrorFrame<'a> {
    /// Creates an error without peer or stream.
    pub fn new(code: &'a str, message: &'a str) -> Self {
        ErrorFrame {
            code: code.into(),
            message: message.into(),
            ..ErrorFrame::default()
        }
    }
}

/// One agent in the answer to `list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AgentListEntry<'a> {
    /// Id of the agent.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Name of the agent, or its id; our hub always sends one.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// Further address of the agent.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub endpoint: Option<Cow<'a, str>>,
    /// Time of registration, in ISO 8601.
    #[serde(default, deserialize_with = "lenient_text")]
    pub registered_at: Cow<'a, str>,
    /// Tags for discovery.
    #[serde(default, deserialize_with = "lenient_texts")]
    pub capabilities: Vec<Cow<'a, str>>,
    /// Whether the agent can be called now. A hub without this field lists only online agents.
    #[serde(default = "is_online", deserialize_with = "unless_false")]
    pub online: bool,
    /// Protocol of the agent, if different from Agora.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub door: Option<Cow<'a, str>>,
    /// Description of the agent's work.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Cow<'a, str>>,
}

fn is_online() -> bool {
    true
}

fn unless_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value: Option<bool> = lenient(deserializer)?;
    Ok(value != Some(false))
}

/// A `registered` frame.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename = "registered")]
pub(crate) struct RegisteredFrame<'a> {
    /// Id of the agent.
    id: &'a str,
}

/// An `agents` frame.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename = "agents")]
pub(crate) struct AgentsFrame<'a> {
    /// Agents that match.
    agents: &'a [AgentListEntry<'a>],
}

/// Writes a `registered` frame.
pub fn registered(id: &str) -> String {
    to_json(&RegisteredFrame { id }, OVERHEAD)
}

/// Writes an `agents` frame.
pub fn agents(entries: &[AgentListEntry<'_>]) -> String {
    const ENTRY: usize = 192;
    let agents = AgentsFrame { agents: entries };
    to_json(&agents, OVERHEAD + entries.len() * ENTRY)
}

/// Writes a `pong` frame.
pub fn pong() -> String {
    OutgoingFrame::bare("pong")
}

/// Writes a `message` frame.
pub fn message(from: &str, opening: &Opening<'_>) -> String {
    OutgoingFrame::opening("message", opening).from(from)
}

/// Writes a `message_chunk` frame.
pub fn message_chunk<'c>(from: &str, stream_id: &str, chunk: impl Into<FrameChunk<'c>>) -> String {
    OutgoingFrame::chunk("message_chunk", stream_id, chunk.into()).from(from)
}

/// Writes a `message_end` frame.
pub fn message_end(from: &str, stream_id: &str) -> String {
    OutgoingFrame::end("message_end", stream_id, None).from(from)
}

/// Writes a `reply` frame.
pub fn reply(from: &str, opening: &Opening<'_>) -> String {
    OutgoingFrame::opening("reply", opening).from(from)
}

/// Writes a `reply_chunk` frame.
pub fn reply_chunk<'c>(from: &str, stream_id: &str, chunk: impl Into<FrameChunk<'c>>) -> String {
    OutgoingFrame::chunk("reply_chunk", stream_id, chunk.into()).from(from)
}

/// Writes a `reply_end` frame.
pub fn reply_end(from: &str, stream_id: &str, payload: Option<FramePayload<'_>>) -> String {
    OutgoingFrame::end("reply_end", stream_id, payload).from(from)
}

/// Writes a `cancel` frame.
pub fn cancel(from: &str, stream_id: Option<&str>, request_id: Option<&str>) -> String {
    OutgoingFrame::cancel(stream_id, request_id).from(from)
}

/// Writes an `error` frame.
pub fn error(error: &ErrorFrame<'_>) -> String {
    to_json(error, OVERHEAD + error.code.len() + 2 * error.message.len())
}

/// A frame from the hub.
#[derive(Debug, Clone)]
pub enum AgoraDownlink<'a> {
    /// The agent is now registered with this id.
    Registered(Cow<'a, str>),
    /// The answer to `list`.
    Agents(Vec<AgentListEntry<'a>>),
    /// A frame from a different agent.
    Delivery(DeliveredFrame<'a>),
    /// A failure at the hub or at a different agent.
    Error(ErrorFrame<'a>),
    /// The answer to `ping`.
    Pong,
    /// A frame of a type unknown to this client.
    Unknown(Cow<'a, str>),
}

/// Types of frames from other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryKind {
    /// A message, or the start of a streamed one.
    Message,
    /// A chunk of a streamed message.
    MessageChunk,
    /// The end of a streamed message.
    MessageEnd,
    /// An answer, or the start of a streamed one.
    Reply,
    /// A chunk of a streamed answer.
    ReplyChunk,
    /// The end of a streamed answer.
    ReplyEnd,
    /// Asks to stop a request or stream.
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

/// A frame from a different agent, as the receiver sees it.
#[derive(Debug, Clone)]
pub struct DeliveredFrame<'a> {
    /// Type of the frame.
    pub kind: DeliveryKind,
    /// Sender of the frame, and the address for an answer.
    pub from: Cow<'a, str>,
    /// Stable id of the caller, if different from `from`.
    pub caller: Option<Cow<'a, str>>,
    /// Id of the stream that the frame starts or belongs to.
    pub stream_id: Option<Cow<'a, str>>,
    /// Whether chunks follow.
    pub stream: bool,
    /// Request id at the top level.
    pub request_id: Option<Cow<'a, str>>,
    /// Payload, unread; see [`query_of`](super::query_of) and [`answer_of`](super::answer_of).
    pub payload: Option<&'a RawValue>,
    /// Text of a chunk.
    pub chunk: Option<Cow<'a, str>>,
    /// All other fields, in their order.
    pub extra: Vec<RawMember<'a>>,
}

impl<'a> DeliveredFrame<'a> {
    /// Returns the text of one of the other fields, such as `kind` or `tool_name`.
    pub fn extra_text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.extra
            .iter()
            .find(|member| member.name == name)
            .and_then(|member| json::str_of(member.value))
    }
}

/// Reads a frame from the hub; only fields essential for a client are required.
pub fn parse_downlink(text: &str) -> Result<AgoraDownlink<'_>, FrameError> {
    read_downlink(text).map_err(|misread| {
        let mut fields = RawFields::default();
        match fields.fill(text) {
            Ok(()) => fields.refuse(misread),
            Err(malformed) => malformed,
        }
    })
}

fn read_downlink(text: &str) -> Result<AgoraDownlink<'_>, FieldError> {
    #[derive(Deserialize)]
    struct FrameType<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Registered<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Agents<'a> {
        #[serde(borrow)]
        agents: Vec<&'a RawValue>,
    }
    // A frame accepted by a hub is not nested too deeply, and no code here recurses into it.
    let tag: FrameType<'_> = read(text, usize::MAX)?;
    if let Some(kind) = DeliveryKind::of(&tag.r#type) {
        return read_delivery(kind, read(text, usize::MAX)?).map(AgoraDownlink::Delivery);
    }
    Ok(match &*tag.r#type {
        "registered" => AgoraDownlink::Registered(read::<Registered<'_>>(text, usize::MAX)?.id),
        "agents" => {
            let entries = read::<Agents<'_>>(text, usize::MAX)?.agents.into_iter();
            // An entry without an id is useless.
            AgoraDownlink::Agents(entries.filter_map(|raw| read_part(raw).ok()).collect())
        }
        "error" => AgoraDownlink::Error(read(text, usize::MAX)?),
        "pong" => AgoraDownlink::Pong,
        _ => AgoraDownlink::Unknown(tag.r#type),
    })
}

/// A delivery for reading. Fields required by some types only are checked afterwards.
#[derive(Deserialize)]
struct DeliveryInput<'a> {
    #[serde(rename = "type")]
    _type: IgnoredAny,
    #[serde(borrow)]
    from: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient_text")]
    caller: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient_text")]
    stream_id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient")]
    stream: bool,
    #[serde(default, deserialize_with = "lenient_text")]
    request_id: Option<Cow<'a, str>>,
    payload: Option<&'a RawValue>,
    chunk: Option<&'a RawValue>,
}

fn read_delivery<'a>(
    kind: DeliveryKind,
    delivery: OpenObject<'a, DeliveryInput<'a>>,
) -> Result<DeliveredFrame<'a>, FieldError> {
    let OpenObject { known, rest } = delivery;
    let (needs_stream_id, needs_chunk) = match kind {
        DeliveryKind::MessageChunk | DeliveryKind::ReplyChunk => (true, true),
        DeliveryKind::MessageEnd | DeliveryKind::ReplyEnd => (true, false),
        DeliveryKind::Message | DeliveryKind::Reply | DeliveryKind::Cancel => (false, false),
    };
    if needs_stream_id && known.stream_id.is_none() {
        return Err(FieldError::missing("stream_id"));
    }
    let chunk = match known.chunk {
        _ if !needs_chunk => None,
        None => return Err(FieldError::missing("chunk")),
        Some(raw) => {
            let no_text = || FieldError::invalid("chunk", "must be a string");
            Some(json::str_of(raw).ok_or_else(no_text)?)
        }
    };
    Ok(DeliveredFrame {
        kind,
        from: known.from,
        caller: known.caller,
        stream_id: known.stream_id,
        stream: known.stream,
        request_id: known.request_id,
        payload: known.payload,
        chunk,
        extra: rest,
    })
}
