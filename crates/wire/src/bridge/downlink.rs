//! Frames of the hub: written by the hub, read by an agent.
//!
//! Fields of extensions are left out unless given, so that an unmodified client never receives them. Reading
//! is lenient, so that an agent works with a newer hub: unknown types and fields are accepted.

use std::borrow::Cow;
use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Attachment, is_no_word};
use crate::json::{self, JsonText, RawMember};
use crate::read::{lenient, lenient_list, lenient_number, lenient_text, lenient_texts};

mod build;
mod read;

pub use build::{
    AcceptedFrame, DiscoverAgentsResultFrame, RefusedFrame, ack, answer, call_agent_chunk,
    call_agent_done, call_agent_error, cancel, discover_agents_result, error, message, refused,
    registered, rtc_signal_relay,
};
pub use read::parse_downlink;

/// Agent id that represents a caller without a socket, as the sender of `rtc_signal_relay` and as the target
/// of `rtc_signal`.
pub const HTTP_CALLER: &str = "http-caller";

/// A frame from the hub.
#[derive(Debug, Clone)]
pub enum Downlink<'a> {
    /// The agent was accepted.
    Registered(Registered<'a>),
    /// The agent was refused, with the reason; the connection closes.
    Refused(Cow<'a, str>),
    /// A request.
    Message(Message<'a>),
    /// A request to stop working on a message.
    Cancel(Cancel<'a>),
    /// The answer to `discover_agents`.
    DiscoverAgentsResult(Vec<DiscoveredAgent<'a>>),
    /// A piece of a called agent's answer.
    CallAgentChunk(CallChunk<'a>),
    /// The end of a called agent's answer.
    CallAgentDone(CallDone<'a>),
    /// The failure of a call.
    CallAgentError(CallError<'a>),
    /// Signalling of a file transfer.
    RtcSignalRelay(RtcRelay<'a>),
    /// Acknowledges frames of an answer (extension `resume`).
    Ack(Ack<'a>),
    /// The answer to an `ask` (extension `input`).
    Answer(Answer<'a>),
    /// The hub refused a frame of the agent.
    Error(HubError<'a>),
    /// A frame of an unknown type.
    Unknown(Cow<'a, str>),
}

/// The acceptance of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Registered<'a> {
    /// The extensions that both sides support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Cow<'a, str>>,
    /// Data for resuming, and the state of earlier requests (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeGrant<'a>>,
}

/// Data for resuming after a lost connection, and the state of earlier requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResumeGrant<'a> {
    /// The token that the agent sends to resume.
    #[serde(borrow)]
    pub token: Cow<'a, str>,
    /// How long the agent's requests stay open after a lost connection, in milliseconds.
    #[serde(default, deserialize_with = "lenient_number")]
    pub grace_ms: u64,
    /// The requests that continue.
    #[serde(
        borrow,
        default,
        deserialize_with = "lenient_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub open: Vec<AcknowledgedAnswer<'a>>,
    /// The requests that have ended.
    #[serde(
        default,
        deserialize_with = "lenient_texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub gone: Vec<Cow<'a, str>>,
}

/// Progress of an answer, as received by the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AcknowledgedAnswer<'a> {
    /// The answered request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Sequence number of the last frame that the hub received; 0 if none.
    #[serde(default, deserialize_with = "lenient_number")]
    pub have: u64,
}

/// A request to an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "message")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message<'a> {
    /// The session of the request.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub session_id: Cow<'a, str>,
    /// The id of the request, which the answer repeats.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The text of the request; undecoded after reading.
    #[serde(borrow)]
    pub content: JsonText<'a>,
    /// The attached files; an empty list is written too.
    #[serde(default, deserialize_with = "lenient_list")]
    pub attachments: Vec<Attachment<'a>>,
    /// The client whose workspace the agent should use; see [`is_safe_client_id`](super::is_safe_client_id).
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_id: Option<Cow<'a, str>>,
    /// Whether the caller wants files.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Not::not"
    )]
    pub with_files: bool,
    /// Data of other protocols about the request (extension `meta`).
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub meta: Option<MessageMeta<'a>>,
}

/// Data of other protocols about a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageMeta<'a> {
    /// The id that the caller gave to the message.
    #[serde(
        borrow,
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub message_id: Option<Cow<'a, str>>,
    /// The task of the request.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<Cow<'a, str>>,
    /// The caller's id of the conversation.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<Cow<'a, str>>,
    /// The parts of the message, if it has more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub parts: Option<&'a RawValue>,
    /// Metadata of the caller's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub metadata: Option<&'a RawValue>,
    /// The stable id of the caller.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub caller: Option<Cow<'a, str>>,
    /// The call on whose behalf this call is made.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent: Option<Cow<'a, str>>,
}

/// A request to stop working on a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "cancel")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cancel<'a> {
    /// The session of the request.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub session_id: Cow<'a, str>,
    /// The id of the request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
}

/// An agent in the answer to `discover_agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DiscoveredAgent<'a> {
    /// The agent's id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The agent's name, or its id; Jackfield's hub always sends it.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// The type of the agent: a model, a framework, a tool.
    #[serde(default, deserialize_with = "lenient_text")]
    pub agent_type: Cow<'a, str>,
    /// The tags of the agent, used in discovery.
    #[serde(default, deserialize_with = "lenient_texts")]
    pub capabilities: Vec<Cow<'a, str>>,
    /// Whether the agent can be called now.
    #[serde(default, deserialize_with = "lenient")]
    pub is_online: bool,
    /// The agent's description (Jackfield's own field).
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Cow<'a, str>>,
}

/// A piece of a called agent's answer.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "call_agent_chunk")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallChunk<'a> {
    /// The id of the call.
    pub call_id: Cow<'a, str>,
    /// The text; undecoded after reading.
    pub delta: JsonText<'a>,
    /// The kind of the text; absent means `text`.
    #[serde(skip_serializing_if = "is_no_word")]
    pub kind: Option<Cow<'a, str>>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "is_no_word")]
    pub tool_name: Option<Cow<'a, str>>,
    /// The id of the tool call.
    #[serde(skip_serializing_if = "is_no_word")]
    pub tool_call_id: Option<Cow<'a, str>>,
}

/// The end of a called agent's answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call_agent_done")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallDone<'a> {
    /// The id of the call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// The files that the called agent produced.
    #[serde(
        default,
        deserialize_with = "lenient_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attachments: Vec<Attachment<'a>>,
    /// The offer of a transfer between peers, passed on unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub file_transfer_offer: Option<&'a RawValue>,
}

/// The failure of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call_agent_error")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallError<'a> {
    /// The id of the call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// The error code, for programs.
    #[serde(default, deserialize_with = "lenient_text")]
    pub code: Cow<'a, str>,
    /// The error message, for people.
    #[serde(default, deserialize_with = "lenient_text")]
    pub message: Cow<'a, str>,
}

/// Signalling of a file transfer, from another agent or an HTTP caller.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "rtc_signal_relay")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RtcRelay<'a> {
    /// The id of the transfer.
    pub transfer_id: Cow<'a, str>,
    /// The id of the sending agent, or [`HTTP_CALLER`].
    pub from_agent_id: Cow<'a, str>,
    /// The type of the signal.
    pub signal_type: Cow<'a, str>,
    /// The content of the signal, a string in practice; `null` is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub payload: Option<&'a RawValue>,
    /// The client that owns the files; see [`is_safe_client_id`](super::is_safe_client_id).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// The ICE servers to use, passed on unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub ice_servers: Option<&'a RawValue>,
    /// Other fields of the agent's `rtc_signal`.
    #[serde(flatten, serialize_with = "json::members")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Vec<RawMember<'a>>,
}

/// Acknowledgement of the frames of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ack")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ack<'a> {
    /// The answered request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Sequence number of the last frame that the hub received.
    pub seq: u64,
}

/// The answer to an `ask`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "answer")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answer<'a> {
    /// The suspended request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The id of the question.
    #[serde(borrow)]
    pub ask_id: Cow<'a, str>,
    /// The text of the answer.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Cow<'a, str>>,
    /// The parts of the answer, an array of files and data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub parts: Option<&'a RawValue>,
    /// The decision on an approval.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub approved: Option<bool>,
    /// The reason for the decision.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<Cow<'a, str>>,
}

/// The hub's error for a refused frame; see [`MalformedFrame::to_frame`](super::MalformedFrame::to_frame).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HubError<'a> {
    /// The error code, for programs.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub code: Cow<'a, str>,
    /// The error message, for people.
    #[serde(default, deserialize_with = "lenient_text")]
    pub message: Cow<'a, str>,
    /// The request id in the refused frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub request_id: Option<Cow<'a, str>>,
    /// The call id in the refused frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub call_id: Option<Cow<'a, str>>,
    /// The path of the wrong field.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub field: Option<Cow<'a, str>>,
    /// The type of the refused frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub frame_type: Option<Cow<'a, str>>,
}
