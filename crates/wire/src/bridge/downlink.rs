//! What the hub sends to agents: writing it at the hub, and reading it in an agent.
//!
//! Fields that only an extension knows are left out unless they are given, so that an unmodified client never sees
//! one. Reading is lenient, so that an agent outlives a newer hub: unknown types and fields are no mistakes.

use std::borrow::Cow;
use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Attachment, is_no_word};
use crate::json::{self, Member, Text};
use crate::read::{lenient, lenient_list, lenient_number, lenient_text, lenient_texts};

mod build;
mod read;

pub use build::{
    ack, answer, call_agent_chunk, call_agent_done, call_agent_error, cancel,
    discover_agents_result, error, message, refused, registered, rtc_signal_relay,
};
pub use read::parse_downlink;

/// The sender that stands for a caller without a socket, in `rtc_signal_relay` and as the target of `rtc_signal`.
pub const HTTP_CALLER: &str = "http-caller";

/// A frame from the hub.
#[derive(Debug, Clone)]
pub enum Downlink<'a> {
    /// The agent is known now.
    Registered(Registered<'a>),
    /// The agent was not accepted, for this reason; the connection closes.
    Refused(Cow<'a, str>),
    /// A request.
    Message(Message<'a>),
    /// The wish that a request stop.
    Cancel(Cancel<'a>),
    /// The answer to `discover_agents`.
    DiscoverAgentsResult(Vec<AgentEntry<'a>>),
    /// A piece of a called agent's answer.
    CallAgentChunk(CallChunk<'a>),
    /// The end of a called agent's answer.
    CallAgentDone(CallDone<'a>),
    /// The failure of a call.
    CallAgentError(CallError<'a>),
    /// Signalling of a file transfer.
    RtcSignalRelay(RtcRelay<'a>),
    /// What the hub has of an answer (extension `resume`).
    Ack(Ack<'a>),
    /// The answer to an `ask` (extension `input`).
    Answer(Answer<'a>),
    /// The hub could not use a frame of this agent.
    Error(HubError<'a>),
    /// A frame of a type this agent does not know.
    Unknown(Cow<'a, str>),
}

/// The acceptance of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Registered<'a> {
    /// The extensions both sides understand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Cow<'a, str>>,
    /// How to come back after a cut, and what became of the requests before this one (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resumed<'a>>,
}

/// How an agent can come back after a cut, and what is left of before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed<'a> {
    /// What the agent shows when it comes back.
    #[serde(borrow)]
    pub token: Cow<'a, str>,
    /// How long its requests are kept open, in milliseconds.
    #[serde(default, deserialize_with = "lenient_number")]
    pub grace_ms: u64,
    /// The requests that go on.
    #[serde(
        borrow,
        default,
        deserialize_with = "lenient_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub open: Vec<Have<'a>>,
    /// The requests that are over.
    #[serde(
        default,
        deserialize_with = "lenient_texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub gone: Vec<Cow<'a, str>>,
}

/// How much the hub has of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have<'a> {
    /// The request that is answered.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The number of the last frame the hub has; 0 if none.
    #[serde(default, deserialize_with = "lenient_number")]
    pub have: u64,
}

/// A request to an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "message")]
pub struct Message<'a> {
    /// The conversation it belongs to.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub session_id: Cow<'a, str>,
    /// The id under which the answer is awaited.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// What is asked, undecoded when it was read.
    #[serde(borrow)]
    pub content: Text<'a>,
    /// The files that go with it; written even when there are none.
    #[serde(default, deserialize_with = "lenient_list")]
    pub attachments: Vec<Attachment<'a>>,
    /// The client whose workspace the agent should use; see [`is_safe_client_id`](super::is_safe_client_id).
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_id: Option<Cow<'a, str>>,
    /// Whether files are wanted.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Not::not"
    )]
    pub with_files: bool,
    /// What other protocols know of a request (extension `meta`).
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub meta: Option<Meta<'a>>,
}

/// What other protocols know of a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta<'a> {
    /// The caller's own id of the message.
    #[serde(
        borrow,
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub message_id: Option<Cow<'a, str>>,
    /// The task it belongs to.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<Cow<'a, str>>,
    /// The conversation, as the caller names it.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<Cow<'a, str>>,
    /// The message's parts, when it is more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
    /// Whatever else the caller's protocol attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'a RawValue>,
    /// The stable id of who is calling.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub caller: Option<Cow<'a, str>>,
    /// The call on whose behalf this one is made.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent: Option<Cow<'a, str>>,
}

/// The wish that a request stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "cancel")]
pub struct Cancel<'a> {
    /// The conversation it belongs to.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub session_id: Cow<'a, str>,
    /// The request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
}

/// One agent in the answer to `discover_agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEntry<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Its name, or its id again; our hub always says one.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// What it is: a model, a framework, a tool.
    #[serde(default, deserialize_with = "lenient_text")]
    pub agent_type: Cow<'a, str>,
    /// The tags it can be found by.
    #[serde(default, deserialize_with = "lenient_texts")]
    pub capabilities: Vec<Cow<'a, str>>,
    /// Whether it can be called now.
    #[serde(default, deserialize_with = "lenient")]
    pub is_online: bool,
    /// What it does (ours).
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
pub struct CallChunk<'a> {
    /// The call.
    pub call_id: Cow<'a, str>,
    /// The text, undecoded when it was read.
    pub delta: Text<'a>,
    /// What kind of text it is; absent means `text`.
    #[serde(skip_serializing_if = "is_no_word")]
    pub kind: Option<Cow<'a, str>>,
    /// The tool it speaks of.
    #[serde(skip_serializing_if = "is_no_word")]
    pub tool_name: Option<Cow<'a, str>>,
    /// The call of that tool it belongs to.
    #[serde(skip_serializing_if = "is_no_word")]
    pub tool_call_id: Option<Cow<'a, str>>,
}

/// The end of a called agent's answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call_agent_done")]
pub struct CallDone<'a> {
    /// The call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// The files the called agent made.
    #[serde(
        default,
        deserialize_with = "lenient_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attachments: Vec<Attachment<'a>>,
    /// The offer of a transfer between peers, passed on as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_transfer_offer: Option<&'a RawValue>,
}

/// The failure of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call_agent_error")]
pub struct CallError<'a> {
    /// The call.
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    /// Why, for programs.
    #[serde(default, deserialize_with = "lenient_text")]
    pub code: Cow<'a, str>,
    /// Why, for people.
    #[serde(default, deserialize_with = "lenient_text")]
    pub message: Cow<'a, str>,
}

/// Signalling of a file transfer, from another agent or an HTTP caller.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "rtc_signal_relay")]
pub struct RtcRelay<'a> {
    /// The transfer.
    pub transfer_id: Cow<'a, str>,
    /// Who sent it, or [`HTTP_CALLER`].
    pub from_agent_id: Cow<'a, str>,
    /// What it is.
    pub signal_type: Cow<'a, str>,
    /// Its content, a string in practice; `null` is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<&'a RawValue>,
    /// The client whose files are meant; see [`is_safe_client_id`](super::is_safe_client_id).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// The relays to use, passed on as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ice_servers: Option<&'a RawValue>,
    /// Other fields of the agent's `rtc_signal`.
    #[serde(flatten, serialize_with = "json::members")]
    pub extra: Vec<Member<'a>>,
}

/// What the hub has of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ack")]
pub struct Ack<'a> {
    /// The request that is answered.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The number of the last frame the hub has.
    pub seq: u64,
}

/// The answer to an `ask`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "answer")]
pub struct Answer<'a> {
    /// The request that waits.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The question.
    #[serde(borrow)]
    pub ask_id: Cow<'a, str>,
    /// The words.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Cow<'a, str>>,
    /// An array of files and data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<&'a RawValue>,
    /// Yes or no, to an approval.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub approved: Option<bool>,
    /// Why.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<Cow<'a, str>>,
}

/// What the hub says of a frame it could not use; see [`Malformed::to_frame`](super::Malformed::to_frame).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error")]
pub struct HubError<'a> {
    /// Why, for programs.
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub code: Cow<'a, str>,
    /// Why, for people.
    #[serde(default, deserialize_with = "lenient_text")]
    pub message: Cow<'a, str>,
    /// The request the frame spoke of.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub request_id: Option<Cow<'a, str>>,
    /// The call the frame spoke of.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub call_id: Option<Cow<'a, str>>,
    /// The field that was wrong.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub field: Option<Cow<'a, str>>,
    /// The type of the frame.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub frame_type: Option<Cow<'a, str>>,
}
