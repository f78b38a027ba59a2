//! Frames of agents: read by the hub, written by an agent.
//!
//! [`parse`] reads every chunk of every answer: one pass over the text, with known fields checked, the delta
//! left undecoded and no allocation. Other frames take a second pass, as the type that the first pass found.
//! The door decides whether ids, kinds and codes are meaningful.

use std::borrow::Cow;
use std::ops::Not;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::value::RawValue;

use super::{Attachment, FrameTypeTag, MalformedFrame, is_no_word, read_frame};
use crate::json::{self, JsonText, RawMember};
use crate::read::{
    BorrowedText, FieldError, OpenObject, array, check_fields_depth, lenient_number, lenient_text,
    or_default, text, try_read, verbatim, word,
};

mod build;
mod register;

pub use build::{
    artifact, ask, call_agent, chunk, discover_agents, done, error, heartbeat, register, rtc_signal,
};
pub use register::{AnswerProgress, BridgeVersion, CallProgress, Register, ResumeState};

/// The types of all frames that an agent may send.
pub const TYPES: [&str; 10] = [
    "register",
    "chunk",
    "done",
    "error",
    "heartbeat",
    "discover_agents",
    "call_agent",
    "rtc_signal",
    "artifact",
    "ask",
];

/// The allowed kinds of an [`Ask`].
const ASK_KINDS: [&str; 2] = ["input", "approval"];

/// A frame from an agent.
#[derive(Debug, Clone)]
pub enum Uplink<'a> {
    /// Registers an agent at the hub; the first frame of every connection.
    Register(Register<'a>),
    /// A piece of an answer.
    Chunk(Chunk<'a>),
    /// The end of an answer.
    Done(Done<'a>),
    /// The failure of a request.
    Error(AgentError<'a>),
    /// A keep-alive.
    Heartbeat(Heartbeat),
    /// Asks for a list of agents.
    DiscoverAgents(DiscoverAgents<'a>),
    /// Call another agent.
    CallAgent(CallAgent<'a>),
    /// Signalling of a file transfer, for another agent or an HTTP caller.
    RtcSignal(RtcSignal<'a>),
    /// A result that the agent produced (extension `artifacts`).
    Artifact(Artifact<'a>),
    /// A question that suspends the request (extension `input`).
    Ask(Ask<'a>),
    /// A frame of an unknown type.
    Unknown(Cow<'a, str>),
}

/// A piece of an answer.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "chunk")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Chunk<'a> {
    /// The session id, which agents repeat and hubs ignore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Cow<'a, str>>,
    /// The request that the chunk answers; empty if the agent named none.
    pub request_id: Cow<'a, str>,
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
    /// Sequence number within the request (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// The end of an answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "done")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Done<'a> {
    /// The session id, which agents repeat and hubs ignore.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<Cow<'a, str>>,
    /// The answered request; empty if the agent named none.
    #[serde(borrow, default, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    /// The files that the agent produced.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attachments: Vec<Attachment<'a>>,
    /// The offer of a transfer between peers, passed on unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub file_transfer_offer: Option<&'a RawValue>,
    /// The whole answer; undecoded after reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<JsonText<'a>>,
    /// The list of files that agents of version 1 send.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub file_manifest: Option<&'a RawValue>,
    /// The state at the end of the turn (extension `input`): `completed`, `message`, `input_required`,
    /// `rejected`.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub state: Option<Cow<'a, str>>,
    /// The cost of the answer (extension `meta`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub usage: Option<&'a RawValue>,
    /// The reason why the model stopped (extension `meta`).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub stop_reason: Option<Cow<'a, str>>,
    /// Sequence number within the request (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// The failure of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentError<'a> {
    /// The session id, which agents repeat and hubs ignore.
    #[serde(
        default,
        deserialize_with = "lenient_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<Cow<'a, str>>,
    /// The request that failed; empty if the agent named none.
    #[serde(borrow, default, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    /// The error code, for programs; see [`BridgeErrorCode::from_name`](super::BridgeErrorCode::from_name).
    #[serde(borrow)]
    pub code: Cow<'a, str>,
    /// The error message, for people.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// Sequence number within the request (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// A keep-alive. Its fields are for statistics only, therefore every value is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "heartbeat")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Heartbeat {
    /// Number of sessions of the agent.
    #[serde(default, deserialize_with = "lenient_number")]
    pub active_sessions: u64,
    /// Uptime of the agent, in milliseconds.
    #[serde(default, deserialize_with = "lenient_number")]
    pub uptime_ms: u64,
}

/// A request for a list of agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "discover_agents")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DiscoverAgents<'a> {
    /// Required capability of the agents.
    #[serde(
        borrow,
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub capability: Option<Cow<'a, str>>,
    /// Maximum number of agents to list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A call to another agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call_agent")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallAgent<'a> {
    /// Id of the called agent.
    #[serde(borrow)]
    pub target_agent_id: Cow<'a, str>,
    /// The request to the called agent.
    #[serde(borrow)]
    pub task_description: Cow<'a, str>,
    /// The id under which the caller expects the answer; the hub creates an id if absent.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub call_id: Option<Cow<'a, str>>,
    /// Whether the caller wants files.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    pub with_files: bool,
    /// The request on whose behalf the agent calls (Jackfield's own field); used to detect loops and to pass
    /// on cancels.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent_request_id: Option<Cow<'a, str>>,
    /// The session that the call continues (Jackfield's own field).
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<Cow<'a, str>>,
}

/// Signalling of a file transfer between peers.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "rtc_signal")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RtcSignal<'a> {
    /// The id of the transfer.
    pub transfer_id: Cow<'a, str>,
    /// The receiver: an agent id, or `http-caller`.
    pub target_agent_id: Cow<'a, str>,
    /// The type of the signal: `offer`, `answer`, `candidate`, or any type that the peers agree on.
    pub signal_type: Cow<'a, str>,
    /// The content of the signal, a string in practice; `null` is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub payload: Option<&'a RawValue>,
    /// Other fields, which are passed on; never fields that only the hub may set.
    #[serde(flatten, serialize_with = "json::members")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Vec<RawMember<'a>>,
}

/// A result that the agent produced.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename = "artifact")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Artifact<'a> {
    /// The request of the artifact; empty if the agent named none.
    #[serde(borrow, default, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    /// The artifact's id within the request.
    #[serde(borrow)]
    pub artifact_id: Cow<'a, str>,
    /// The artifact's name.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<Cow<'a, str>>,
    /// The contents, an array of parts.
    #[serde(deserialize_with = "array")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value))]
    pub parts: &'a RawValue,
    /// Whether the parts continue an earlier frame with the same id.
    #[serde(default, deserialize_with = "or_default")]
    pub append: bool,
    /// Whether no further frame with the same id follows.
    #[serde(default, deserialize_with = "or_default")]
    pub last: bool,
    /// Sequence number within the request (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// A question that suspends a request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename = "ask")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ask<'a> {
    /// The suspended request; empty if the agent named none.
    #[serde(borrow, default, deserialize_with = "text")]
    pub request_id: Cow<'a, str>,
    /// The id of the question, which the answer repeats.
    #[serde(borrow)]
    pub ask_id: Cow<'a, str>,
    /// The kind of the question: `input` or `approval`.
    #[serde(deserialize_with = "ask_kind")]
    #[cfg_attr(feature = "schema", schema(pattern = "^(input|approval)$"))]
    pub kind: Cow<'a, str>,
    /// The question.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
    /// The tool that needs approval.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub tool_name: Option<Cow<'a, str>>,
    /// The id of the tool call that needs approval.
    #[serde(
        default,
        deserialize_with = "word",
        skip_serializing_if = "Option::is_none"
    )]
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The arguments of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub arguments: Option<&'a RawValue>,
    /// The JSON schema of the wanted answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value, required = false))]
    pub schema: Option<&'a RawValue>,
    /// Sequence number within the request (extension `resume`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// Reads a frame from an agent. Its fields may be nested `max_depth` levels deep. Returns [`MalformedFrame`] with
/// the path of a wrong field.
pub fn parse(text: &str, max_depth: usize) -> Result<Uplink<'_>, MalformedFrame> {
    check_fields_depth(text, max_depth)
        .and_then(|()| read_uplink(text))
        .map_err(|misread| MalformedFrame::of(text, misread))
}

/// A frame read as a chunk, because nearly all frames are chunks: a single pass finds the type and reads a
/// chunk.
#[derive(Deserialize)]
struct ChunkIn<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient_text")]
    session_id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "text")]
    request_id: Cow<'a, str>,
    delta: Option<JsonText<'a>>,
    #[serde(default, deserialize_with = "word")]
    kind: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "word")]
    tool_name: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "word")]
    tool_call_id: Option<Cow<'a, str>>,
    seq: Option<u64>,
}

impl<'a> ChunkIn<'a> {
    fn chunk(self) -> Result<Chunk<'a>, FieldError> {
        Ok(Chunk {
            session_id: self.session_id,
            request_id: self.request_id,
            delta: self.delta.ok_or_else(|| FieldError::missing("delta"))?,
            kind: self.kind,
            tool_name: self.tool_name,
            tool_call_id: self.tool_call_id,
            seq: self.seq,
        })
    }
}

fn read_uplink(text: &str) -> Result<Uplink<'_>, FieldError> {
    let frame_type = match try_read::<ChunkIn<'_>>(text) {
        Some(chunk) if chunk.r#type == "chunk" => return chunk.chunk().map(Uplink::Chunk),
        Some(other) => other.r#type,
        None => read_frame::<FrameTypeTag<'_>>(text)?.r#type,
    };
    Ok(match &*frame_type {
        "chunk" => Uplink::Chunk(read_frame::<ChunkIn<'_>>(text)?.chunk()?),
        "done" => Uplink::Done(read_frame(text)?),
        "error" => Uplink::Error(read_frame(text)?),
        "heartbeat" => Uplink::Heartbeat(try_read(text).unwrap_or_default()),
        "register" => Uplink::Register(read_frame(text)?),
        "discover_agents" => Uplink::DiscoverAgents(read_frame(text)?),
        "call_agent" => Uplink::CallAgent(read_frame(text)?),
        "rtc_signal" => {
            Uplink::RtcSignal(read_frame::<OpenObject<'_, RtcSignalIn<'_>>>(text)?.into())
        }
        "artifact" => Uplink::Artifact(read_frame(text)?),
        "ask" => Uplink::Ask(read_frame(text)?),
        _ => Uplink::Unknown(frame_type),
    })
}

/// An [`RtcSignal`] as read, before its other fields are filtered.
#[derive(Deserialize)]
struct RtcSignalIn<'a> {
    #[serde(borrow)]
    transfer_id: Cow<'a, str>,
    #[serde(borrow)]
    target_agent_id: Cow<'a, str>,
    #[serde(borrow)]
    signal_type: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "verbatim")]
    payload: Option<&'a RawValue>,
}

/// Fields of a signal that only the hub may set.
const HUB_ONLY_FIELDS: [&str; 4] = ["type", "from_agent_id", "client_id", "ice_servers"];

impl<'a> From<OpenObject<'a, RtcSignalIn<'a>>> for RtcSignal<'a> {
    fn from(signal: OpenObject<'a, RtcSignalIn<'a>>) -> Self {
        let OpenObject { known, mut rest } = signal;
        rest.retain(|member| !HUB_ONLY_FIELDS.contains(&&*member.name));
        RtcSignal {
            transfer_id: known.transfer_id,
            target_agent_id: known.target_agent_id,
            signal_type: known.signal_type,
            payload: known.payload,
            extra: rest,
        }
    }
}

/// Reads the kind of an [`Ask`]. Refuses unknown kinds, because a mistyped approval would go to the caller,
/// who must not grant it.
fn ask_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let BorrowedText(kind) = BorrowedText::deserialize(deserializer)?;
    match ASK_KINDS.contains(&&*kind) {
        true => Ok(kind),
        false => {
            let [input, approval] = ASK_KINDS;
            Err(D::Error::custom(format!(
                "must be {input:?} or {approval:?}"
            )))
        }
    }
}
