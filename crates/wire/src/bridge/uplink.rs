//! What agents send: reading it at the hub, and writing it in an agent.
//!
//! [`parse`] meets every chunk of every answer: one pass over the text, known fields checked, the delta left as the
//! agent wrote it, nothing allocated. Whether ids, kinds and codes mean anything is the door's to judge.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{Fields, Slot};
use super::{Attachment, Limits, Malformed};
use crate::json::{self, Member, Text};

mod build;
mod register;

pub use build::{
    artifact, ask, call_agent, chunk, discover_agents, done, error, heartbeat, register, rtc_signal,
};
pub use register::{Got, Register, Resume, Sent, Version};

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

/// What an `ask` may want.
const ASK_KINDS: [&str; 2] = ["input", "approval"];

/// A frame from an agent.
#[derive(Debug, Clone)]
pub enum Uplink<'a> {
    /// Become an agent of this hub; the first frame of every connection.
    Register(Register<'a>),
    /// A piece of an answer.
    Chunk(Chunk<'a>),
    /// The end of an answer.
    Done(Done<'a>),
    /// The failure of a request.
    Error(AgentError<'a>),
    /// A sign of life.
    Heartbeat(Heartbeat),
    /// Ask who is there.
    DiscoverAgents(DiscoverAgents<'a>),
    /// Call another agent.
    CallAgent(CallAgent<'a>),
    /// Signalling of a file transfer, for another agent or an HTTP caller.
    RtcSignal(RtcSignal<'a>),
    /// Something the agent made (extension `artifacts`).
    Artifact(Artifact<'a>),
    /// A question that suspends the request (extension `input`).
    Ask(Ask<'a>),
    /// A frame of a type this hub does not know.
    Unknown(Cow<'a, str>),
}

/// A piece of an answer.
#[derive(Debug, Clone, Default)]
pub struct Chunk<'a> {
    /// The session, which agents repeat and hubs ignore.
    pub session_id: Option<Cow<'a, str>>,
    /// The request that is answered; empty if the agent named none.
    pub request_id: Cow<'a, str>,
    /// The text, undecoded when it was read.
    pub delta: Text<'a>,
    /// What kind of text it is; absent means `text`.
    pub kind: Option<Cow<'a, str>>,
    /// The tool it speaks of.
    pub tool_name: Option<Cow<'a, str>>,
    /// The call of that tool it belongs to.
    pub tool_call_id: Option<Cow<'a, str>>,
    /// Its number within the request (extension `resume`).
    pub seq: Option<u64>,
}

/// The end of an answer.
#[derive(Debug, Clone, Default)]
pub struct Done<'a> {
    /// The session, which agents repeat and hubs ignore.
    pub session_id: Option<Cow<'a, str>>,
    /// The request that is answered; empty if the agent named none.
    pub request_id: Cow<'a, str>,
    /// The files the agent made.
    pub attachments: Vec<Attachment<'a>>,
    /// The offer of a transfer between peers, passed on as it is.
    pub file_transfer_offer: Option<&'a RawValue>,
    /// The whole answer, undecoded when it was read.
    pub result: Option<Text<'a>>,
    /// The list of files that version 1 agents give.
    pub file_manifest: Option<&'a RawValue>,
    /// How the turn ended (extension `input`): `completed`, `message`, `input_required`, `rejected`.
    pub state: Option<Cow<'a, str>>,
    /// What the answer cost (extension `meta`).
    pub usage: Option<&'a RawValue>,
    /// Why the model stopped (extension `meta`).
    pub stop_reason: Option<Cow<'a, str>>,
    /// Its number within the request (extension `resume`).
    pub seq: Option<u64>,
}

/// The failure of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentError<'a> {
    /// The session, which agents repeat and hubs ignore.
    pub session_id: Option<Cow<'a, str>>,
    /// The request that failed; empty if the agent named none.
    pub request_id: Cow<'a, str>,
    /// Why, for programs; see [`ErrorCode::from_name`](super::ErrorCode::from_name).
    pub code: Cow<'a, str>,
    /// Why, for people.
    pub message: Cow<'a, str>,
    /// Its number within the request (extension `resume`).
    pub seq: Option<u64>,
}

/// A sign of life; what it says is for statistics only, so that nothing in it can be wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// How many sessions the agent has.
    pub active_sessions: u64,
    /// How long it has been running, in milliseconds.
    pub uptime_ms: u64,
}

/// The question for agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoverAgents<'a> {
    /// The capability they must have.
    pub capability: Option<Cow<'a, str>>,
    /// How many are wanted at most.
    pub limit: Option<u64>,
}

/// A call of another agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallAgent<'a> {
    /// Who is called.
    pub target_agent_id: Cow<'a, str>,
    /// What it is asked.
    pub task_description: Cow<'a, str>,
    /// The id under which the caller awaits the answer; the hub makes one up if there is none.
    pub call_id: Option<Cow<'a, str>>,
    /// Whether files are wanted.
    pub with_files: bool,
    /// The request on whose behalf the agent calls (ours), by which loops and cancels are followed.
    pub parent_request_id: Option<Cow<'a, str>>,
    /// The conversation it continues (ours).
    pub session_id: Option<Cow<'a, str>>,
}

/// Signalling of a file transfer between peers.
#[derive(Debug, Clone, Default)]
pub struct RtcSignal<'a> {
    /// The transfer.
    pub transfer_id: Cow<'a, str>,
    /// Who it is for: an agent, or `http-caller`.
    pub target_agent_id: Cow<'a, str>,
    /// What it is: `offer`, `answer`, `candidate`, or whatever peers agree on.
    pub signal_type: Cow<'a, str>,
    /// Its content, a string in practice; `null` is kept.
    pub payload: Option<&'a RawValue>,
    /// Other fields, which survive the hop; never those that only the hub may say.
    pub extra: Vec<Member<'a>>,
}

/// Something an agent made.
#[derive(Debug, Clone)]
pub struct Artifact<'a> {
    /// The request it belongs to; empty if the agent named none.
    pub request_id: Cow<'a, str>,
    /// Its id within the request.
    pub artifact_id: Cow<'a, str>,
    /// Its name.
    pub name: Option<Cow<'a, str>>,
    /// An array of its contents.
    pub parts: &'a RawValue,
    /// Whether the parts continue what came before under this id.
    pub append: bool,
    /// Whether nothing more comes under this id.
    pub last: bool,
    /// Its number within the request (extension `resume`).
    pub seq: Option<u64>,
}

/// A question that suspends a request.
#[derive(Debug, Clone, Default)]
pub struct Ask<'a> {
    /// The request that waits; empty if the agent named none.
    pub request_id: Cow<'a, str>,
    /// The id under which the answer is awaited.
    pub ask_id: Cow<'a, str>,
    /// What is wanted: `input` or `approval`.
    pub kind: Cow<'a, str>,
    /// The question.
    pub text: Cow<'a, str>,
    /// The tool that needs approval.
    pub tool_name: Option<Cow<'a, str>>,
    /// Which call of it does.
    pub tool_call_id: Option<Cow<'a, str>>,
    /// What the tool would be called with.
    pub arguments: Option<&'a RawValue>,
    /// The JSON schema of the wanted answer.
    pub schema: Option<&'a RawValue>,
    /// Its number within the request (extension `resume`).
    pub seq: Option<u64>,
}

/// Reads a frame from an agent.
pub fn parse<'a>(text: &'a str, limits: &Limits) -> Result<Uplink<'a>, Malformed> {
    let mut fields = Fields::default();
    fields.fill(text)?;
    fields.check(limits)?;
    let frame_type = fields.required_text(Slot::Type)?;
    match &*frame_type {
        "chunk" => read_chunk(&fields).map(Uplink::Chunk),
        "done" => read_done(&fields).map(Uplink::Done),
        "error" => read_error(&fields).map(Uplink::Error),
        "heartbeat" => Ok(Uplink::Heartbeat(Heartbeat {
            active_sessions: fields.lenient_number("active_sessions").unwrap_or(0),
            uptime_ms: fields.lenient_number("uptime_ms").unwrap_or(0),
        })),
        "register" => register::read(&fields).map(Uplink::Register),
        "discover_agents" => read_discover(&fields).map(Uplink::DiscoverAgents),
        "call_agent" => read_call(&fields).map(Uplink::CallAgent),
        "rtc_signal" => read_signal(&fields).map(Uplink::RtcSignal),
        "artifact" => read_artifact(&fields).map(Uplink::Artifact),
        "ask" => read_ask(&fields).map(Uplink::Ask),
        _ => Ok(Uplink::Unknown(frame_type)),
    }
}

/// The request that a frame is about. Agents forget to name it; which one they mean is the door's to judge.
fn request_of<'a>(fields: &Fields<'a>) -> Result<Cow<'a, str>, Malformed> {
    Ok(fields.text(Slot::RequestId)?.unwrap_or_default())
}

fn read_chunk<'a>(fields: &Fields<'a>) -> Result<Chunk<'a>, Malformed> {
    let request_id = request_of(fields)?;
    let delta = fields
        .raw_text(Slot::Delta)?
        .ok_or_else(|| fields.missing("delta"))?;
    Ok(Chunk {
        session_id: fields.lenient_text(Slot::SessionId),
        request_id,
        delta,
        kind: fields.word(Slot::Kind)?,
        tool_name: fields.word(Slot::ToolName)?,
        tool_call_id: fields.word(Slot::ToolCallId)?,
        seq: fields.number(Slot::Seq)?,
    })
}

fn read_done<'a>(fields: &Fields<'a>) -> Result<Done<'a>, Malformed> {
    Ok(Done {
        session_id: fields.lenient_text(Slot::SessionId),
        request_id: request_of(fields)?,
        attachments: fields.attachments()?,
        file_transfer_offer: fields.value("file_transfer_offer")?,
        result: fields.raw_text("result")?,
        file_manifest: fields.value("file_manifest")?,
        state: fields.word("state")?,
        usage: fields.value("usage")?,
        stop_reason: fields.word("stop_reason")?,
        seq: fields.number(Slot::Seq)?,
    })
}

fn read_error<'a>(fields: &Fields<'a>) -> Result<AgentError<'a>, Malformed> {
    Ok(AgentError {
        session_id: fields.lenient_text(Slot::SessionId),
        request_id: request_of(fields)?,
        code: fields.required_text("code")?,
        message: fields.required_text("message")?,
        seq: fields.number(Slot::Seq)?,
    })
}

fn read_discover<'a>(fields: &Fields<'a>) -> Result<DiscoverAgents<'a>, Malformed> {
    Ok(DiscoverAgents {
        capability: fields.word("capability")?,
        limit: fields.number("limit")?,
    })
}

fn read_call<'a>(fields: &Fields<'a>) -> Result<CallAgent<'a>, Malformed> {
    Ok(CallAgent {
        target_agent_id: fields.required_text("target_agent_id")?,
        task_description: fields.required_text("task_description")?,
        call_id: fields.word(Slot::CallId)?,
        with_files: fields.flag("with_files")?,
        parent_request_id: fields.word("parent_request_id")?,
        session_id: fields.word(Slot::SessionId)?,
    })
}

/// What a signal's receiver is told by the hub or by the fields above, and by nobody else.
const SIGNAL_FIELDS: [&str; 8] = [
    "type",
    "transfer_id",
    "target_agent_id",
    "from_agent_id",
    "signal_type",
    "payload",
    "client_id",
    "ice_servers",
];

fn read_signal<'a>(fields: &Fields<'a>) -> Result<RtcSignal<'a>, Malformed> {
    Ok(RtcSignal {
        transfer_id: fields.required_text("transfer_id")?,
        target_agent_id: fields.required_text("target_agent_id")?,
        signal_type: fields.required_text("signal_type")?,
        payload: fields.verbatim("payload")?,
        extra: fields.rest(&SIGNAL_FIELDS),
    })
}

fn read_artifact<'a>(fields: &Fields<'a>) -> Result<Artifact<'a>, Malformed> {
    let request_id = request_of(fields)?;
    let artifact_id = fields.required_text("artifact_id")?;
    let parts = fields
        .value("parts")?
        .ok_or_else(|| fields.missing("parts"))?;
    if !json::is_array(parts) {
        return Err(fields.invalid("parts", "must be an array"));
    }
    Ok(Artifact {
        request_id,
        artifact_id,
        name: fields.word("name")?,
        parts,
        append: fields.flag("append")?,
        last: fields.flag("last")?,
        seq: fields.number(Slot::Seq)?,
    })
}

fn read_ask<'a>(fields: &Fields<'a>) -> Result<Ask<'a>, Malformed> {
    let kind = fields.required_text(Slot::Kind)?;
    // A mistyped approval would go to the caller, whose it is not to give.
    if !ASK_KINDS.contains(&&*kind) {
        let problem = format!("must be {:?} or {:?}", ASK_KINDS[0], ASK_KINDS[1]);
        return Err(fields.invalid("kind", problem));
    }
    Ok(Ask {
        request_id: request_of(fields)?,
        ask_id: fields.required_text("ask_id")?,
        kind,
        text: fields.required_text("text")?,
        tool_name: fields.word(Slot::ToolName)?,
        tool_call_id: fields.word(Slot::ToolCallId)?,
        arguments: fields.value("arguments")?,
        schema: fields.value("schema")?,
        seq: fields.number(Slot::Seq)?,
    })
}
