//! What the hub sends to agents: writing it at the hub, and reading it in an agent.
//!
//! Fields that only an extension knows are left out unless they are given, so that an unmodified client never sees
//! one. Reading is lenient, so that an agent outlives a newer hub: unknown types and fields are no mistakes.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Attachment;
use crate::json::{Member, Text};

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registered<'a> {
    /// The extensions both sides understand.
    pub extensions: Vec<Cow<'a, str>>,
    /// How to come back after a cut, and what became of the requests before this one (extension `resume`).
    pub resume: Option<Resumed<'a>>,
}

/// How an agent can come back after a cut, and what is left of before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resumed<'a> {
    /// What the agent shows when it comes back.
    pub token: Cow<'a, str>,
    /// How long its requests are kept open, in milliseconds.
    pub grace_ms: u64,
    /// The requests that go on.
    pub open: Vec<Have<'a>>,
    /// The requests that are over.
    pub gone: Vec<Cow<'a, str>>,
}

/// How much the hub has of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Have<'a> {
    /// The request that is answered.
    pub request_id: Cow<'a, str>,
    /// The number of the last frame the hub has; 0 if none.
    pub have: u64,
}

/// A request to an agent.
#[derive(Debug, Clone, Default)]
pub struct Message<'a> {
    /// The conversation it belongs to.
    pub session_id: Cow<'a, str>,
    /// The id under which the answer is awaited.
    pub request_id: Cow<'a, str>,
    /// What is asked, undecoded when it was read.
    pub content: Text<'a>,
    /// The files that go with it; written even when there are none.
    pub attachments: Vec<Attachment<'a>>,
    /// The client whose workspace the agent should use; see [`is_safe_client_id`](super::is_safe_client_id).
    pub client_id: Option<Cow<'a, str>>,
    /// Whether files are wanted.
    pub with_files: bool,
    /// What other protocols know of a request (extension `meta`).
    pub meta: Option<Meta<'a>>,
}

/// What other protocols know of a request.
#[derive(Debug, Clone, Default)]
pub struct Meta<'a> {
    /// The caller's own id of the message.
    pub message_id: Option<Cow<'a, str>>,
    /// The task it belongs to.
    pub task_id: Option<Cow<'a, str>>,
    /// The conversation, as the caller names it.
    pub context_id: Option<Cow<'a, str>>,
    /// The message's parts, when it is more than text.
    pub parts: Option<&'a RawValue>,
    /// Whatever else the caller's protocol attached.
    pub metadata: Option<&'a RawValue>,
    /// The stable id of who is calling.
    pub caller: Option<Cow<'a, str>>,
    /// The call on whose behalf this one is made.
    pub parent: Option<Cow<'a, str>>,
}

/// The wish that a request stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cancel<'a> {
    /// The conversation it belongs to.
    pub session_id: Cow<'a, str>,
    /// The request.
    pub request_id: Cow<'a, str>,
}

/// One agent in the answer to `discover_agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentEntry<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// Its name, or its id again.
    pub name: Cow<'a, str>,
    /// What it is: a model, a framework, a tool.
    pub agent_type: Cow<'a, str>,
    /// The tags it can be found by.
    pub capabilities: Vec<Cow<'a, str>>,
    /// Whether it can be called now.
    pub is_online: bool,
    /// What it does (ours).
    pub description: Option<Cow<'a, str>>,
}

/// A piece of a called agent's answer.
#[derive(Debug, Clone, Default)]
pub struct CallChunk<'a> {
    /// The call.
    pub call_id: Cow<'a, str>,
    /// The text, undecoded when it was read.
    pub delta: Text<'a>,
    /// What kind of text it is; absent means `text`.
    pub kind: Option<Cow<'a, str>>,
    /// The tool it speaks of.
    pub tool_name: Option<Cow<'a, str>>,
    /// The call of that tool it belongs to.
    pub tool_call_id: Option<Cow<'a, str>>,
}

/// The end of a called agent's answer.
#[derive(Debug, Clone, Default)]
pub struct CallDone<'a> {
    /// The call.
    pub call_id: Cow<'a, str>,
    /// The files the called agent made.
    pub attachments: Vec<Attachment<'a>>,
    /// The offer of a transfer between peers, passed on as it is.
    pub file_transfer_offer: Option<&'a RawValue>,
}

/// The failure of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallError<'a> {
    /// The call.
    pub call_id: Cow<'a, str>,
    /// Why, for programs.
    pub code: Cow<'a, str>,
    /// Why, for people.
    pub message: Cow<'a, str>,
}

/// Signalling of a file transfer, from another agent or an HTTP caller.
#[derive(Debug, Clone, Default)]
pub struct RtcRelay<'a> {
    /// The transfer.
    pub transfer_id: Cow<'a, str>,
    /// Who sent it, or [`HTTP_CALLER`].
    pub from_agent_id: Cow<'a, str>,
    /// What it is.
    pub signal_type: Cow<'a, str>,
    /// Its content, a string in practice; `null` is kept.
    pub payload: Option<&'a RawValue>,
    /// The client whose files are meant; see [`is_safe_client_id`](super::is_safe_client_id).
    pub client_id: Option<Cow<'a, str>>,
    /// The relays to use, passed on as they are.
    pub ice_servers: Option<&'a RawValue>,
    /// Other fields of the agent's `rtc_signal`.
    pub extra: Vec<Member<'a>>,
}

/// What the hub has of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The request that is answered.
    pub request_id: Cow<'a, str>,
    /// The number of the last frame the hub has.
    pub seq: u64,
}

/// The answer to an `ask`.
#[derive(Debug, Clone, Default)]
pub struct Answer<'a> {
    /// The request that waits.
    pub request_id: Cow<'a, str>,
    /// The question.
    pub ask_id: Cow<'a, str>,
    /// The words.
    pub content: Option<Cow<'a, str>>,
    /// An array of files and data.
    pub parts: Option<&'a RawValue>,
    /// Yes or no, to an approval.
    pub approved: Option<bool>,
    /// Why.
    pub reason: Option<Cow<'a, str>>,
}

/// What the hub says of a frame it could not use; see [`Malformed::to_frame`](super::Malformed::to_frame).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubError<'a> {
    /// Why, for programs.
    pub code: Cow<'a, str>,
    /// Why, for people.
    pub message: Cow<'a, str>,
    /// The request the frame spoke of.
    pub request_id: Option<Cow<'a, str>>,
    /// The call the frame spoke of.
    pub call_id: Option<Cow<'a, str>>,
    /// The field that was wrong.
    pub field: Option<Cow<'a, str>>,
    /// The type of the frame.
    pub frame_type: Option<Cow<'a, str>>,
}
