//! Pure conversions between SDK types and frames of the bridge protocol. No sockets, no state.

use std::borrow::Cow;

use jackfield_model as model;
use jackfield_wire::{
    bridge::{
        Attachment,
        downlink::{self, CallChunk, CallDone, DiscoveredAgent, RtcRelay},
        extension,
        uplink::{self, AgentError, CallAgent, DiscoverAgents, Register, ResumeState},
    },
    json::JsonText,
};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use crate::{
    Agent, AgentFailure, Artifact, Ask, CallerSignal, Chunk, ChunkKind, Done, DoneState, File,
    FileSource, Json, Message, Part, PeerInfo,
    agent::{AgentOutput, HandlerEnd, PeerCallRequest},
};

/// Longest error text that is sent, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// Most agents in a discovery: the hub's own limit.
const MAX_PEERS: u64 = 200;

/// The request to which a frame belongs, and the frame's sequence number.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameTarget<'a> {
    pub(super) session: &'a str,
    pub(super) request: &'a str,
    pub(super) seq: Option<u64>,
}

/// Builds the first frame of a connection.
pub(super) fn register(
    agent: &Agent,
    token: Option<&str>,
    resume: Option<ResumeState<'_>>,
) -> String {
    let text = |text: &Option<String>| text.clone().map(Cow::Owned);
    let profile = &agent.profile;
    let ids = profile.skills.iter().map(|skill| Cow::from(&skill.id));
    let besides = (!profile.has_only_skill_ids()).then(|| to_raw_value(profile).ok());
    let besides = besides.flatten();
    uplink::register(&Register {
        agent_id: agent.id.as_str().into(),
        token: token.map(Into::into),
        agent_type: text(&agent.agent_type),
        capabilities: ids.collect(),
        name: text(&agent.name),
        description: text(&agent.description),
        profile: besides.as_deref(),
        extensions: extension::ALL.map(Into::into).to_vec(),
        resume,
        ..Register::default()
    })
}

/// Builds the frame for a handler's output.
pub(super) fn frame(about: FrameTarget<'_>, output: &AgentOutput) -> String {
    match output {
        AgentOutput::Chunk(said) => chunk(about, said),
        AgentOutput::Artifact(made) => artifact(about, made),
        AgentOutput::Ask(open) => ask(about, &open.ask),
        AgentOutput::End(HandlerEnd::Done(ended)) => done(about, ended),
        AgentOutput::End(HandlerEnd::Failed(failure)) => error(about, failure),
        // Not frames of the request; see [`call`] and [`discover`].
        AgentOutput::Call(_) | AgentOutput::Discover(_) => String::new(),
    }
}

fn chunk(about: FrameTarget<'_>, chunk: &Chunk) -> String {
    uplink::chunk(&uplink::Chunk {
        session_id: Some(about.session.into()),
        request_id: about.request.into(),
        delta: JsonText::from(chunk.text.as_str()),
        // Text is the default kind.
        kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name().into()),
        tool_name: chunk.tool_name.as_deref().map(Into::into),
        tool_call_id: chunk.tool_call_id.as_deref().map(Into::into),
        seq: about.seq,
    })
}

fn artifact(about: FrameTarget<'_>, artifact: &Artifact) -> String {
    let parts = to_raw_value(&artifact.parts).unwrap_or_else(|_| RawValue::NULL.to_owned());
    uplink::artifact(&uplink::Artifact {
        request_id: about.request.into(),
        artifact_id: artifact.id.as_str().into(),
        name: artifact.name.as_deref().map(Into::into),
        parts: &parts,
        append: artifact.append,
        last: artifact.last,
        seq: about.seq,
    })
}

fn ask(about: FrameTarget<'_>, ask: &Ask) -> String {
    uplink::ask(&uplink::Ask {
        request_id: about.request.into(),
        ask_id: ask.id.as_str().into(),
        kind: ask.kind.name().into(),
        text: ask.text.as_str().into(),
        tool_name: ask.tool_name.as_deref().map(Into::into),
        arguments: ask.arguments.as_ref().map(Json::raw),
        schema: ask.schema.as_ref().map(Json::raw),
        seq: about.seq,
        ..uplink::Ask::default()
    })
}

fn done(about: FrameTarget<'_>, done: &Done) -> String {
    uplink::done(&uplink::Done {
        session_id: Some(about.session.into()),
        request_id: about.request.into(),
        attachments: done.attachments.iter().filter_map(attachment).collect(),
        result: done.result.as_deref().map(JsonText::from),
        state: state(done).map(Into::into),
        usage: done.usage.as_ref().map(Json::raw),
        file_transfer_offer: done.file_transfer_offer.as_ref().map(Json::raw),
        stop_reason: done.stop_reason.as_deref().map(Into::into),
        seq: about.seq,
        ..uplink::Done::default()
    })
}

/// Returns the bridge's name for the state in which a task is left. `None` means completed.
fn state(done: &Done) -> Option<&'static str> {
    match done.state {
        DoneState::Completed => done.is_message.then_some("message"),
        DoneState::InputRequired if done.needs_auth => Some("auth_required"),
        state @ (DoneState::InputRequired | DoneState::Rejected) => Some(state.name()),
    }
}

/// Converts a file with a URL into an attachment of the bridge.
fn attachment(file: &File) -> Option<Attachment<'_>> {
    let FileSource::Uri(uri) = &file.source else {
        return None;
    };
    let text = |text: &Option<String>| Cow::Owned(text.clone().unwrap_or_default());
    Some(Attachment::new(text(&file.name), uri, text(&file.mime)))
}

fn file(attachment: &Attachment<'_>) -> File {
    let text = |text: &str| Some(text.to_owned());
    let url = attachment.url.to_string();
    File::from_url(url, text(&attachment.name), text(&attachment.media_type))
}

fn error(about: FrameTarget<'_>, failure: &AgentFailure) -> String {
    let message = &failure.message;
    uplink::error(&AgentError {
        session_id: Some(about.session.into()),
        request_id: about.request.into(),
        code: failure.code.as_str().into(),
        message: message[..message.floor_char_boundary(MAX_ERROR)].into(),
        seq: about.seq,
    })
}

pub(super) fn call(call: &PeerCallRequest, call_id: &str, parent: &str) -> String {
    uplink::call_agent(&CallAgent {
        target_agent_id: call.target.as_str().into(),
        task_description: call.text.as_str().into(),
        call_id: Some(call_id.into()),
        parent_request_id: Some(parent.into()),
        session_id: call.session.as_deref().map(Into::into),
        with_files: call.with_files,
    })
}

pub(super) fn discover(skill: Option<&str>) -> String {
    uplink::discover_agents(&DiscoverAgents {
        capability: skill.map(Into::into),
        limit: Some(MAX_PEERS),
    })
}

pub(super) fn message_from(frame: downlink::Message<'_>) -> Message {
    let text = frame.content.decode().into_owned();
    let meta = frame.meta.unwrap_or_default();
    let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
    let parts = match meta.parts {
        Some(parts) => Part::read_list(parts),
        // A hub without the `meta` extension sends text and links only.
        None => std::iter::once(Part::Text(text.clone()))
            .chain(frame.attachments.iter().map(|link| Part::File(file(link))))
            .collect(),
    };
    Message {
        text,
        caller: owned(meta.caller),
        session: frame.session_id.into_owned(),
        request_id: frame.request_id.into_owned(),
        parts,
        metadata: meta.metadata.and_then(value),
        message_id: owned(meta.message_id),
        task_id: owned(meta.task_id),
        context_id: owned(meta.context_id),
        call: owned(meta.parent),
        client_id: owned(frame.client_id),
        with_files: frame.with_files,
    }
}

fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

pub(super) fn answer(answer: downlink::Answer<'_>) -> model::Answer {
    model::Answer {
        content: answer.content.map(Cow::into_owned),
        parts: answer.parts.map(Part::read_list).unwrap_or_default(),
        approved: answer.approved,
        reason: answer.reason.map(Cow::into_owned),
        ..model::Answer::default()
    }
}

pub(super) fn signal(relay: RtcRelay<'_>) -> CallerSignal {
    // A string in practice; other JSON is passed on verbatim.
    let text =
        |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
    CallerSignal {
        transfer_id: relay.transfer_id.into_owned(),
        from_agent_id: relay.from_agent_id.into_owned(),
        signal_type: relay.signal_type.into_owned(),
        payload: relay.payload.map(text),
        client_id: relay.client_id.map(Cow::into_owned),
        ice_servers: relay.ice_servers.and_then(value),
    }
}

pub(super) fn peer(entry: DiscoveredAgent<'_>) -> PeerInfo {
    let name = entry.name.unwrap_or_else(|| entry.id.clone());
    PeerInfo {
        name: name.into_owned(),
        id: entry.id.into_owned(),
        agent_type: entry.agent_type.into_owned(),
        skills: entry
            .capabilities
            .into_iter()
            .map(Cow::into_owned)
            .collect(),
        description: entry.description.map(Cow::into_owned),
        is_online: entry.is_online,
    }
}

/// Converts a chunk of a peer's reply. An unknown kind is text, as in the hub.
pub(super) fn call_chunk(chunk: CallChunk<'_>) -> Chunk {
    let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
    let kind = chunk.kind.as_deref().and_then(ChunkKind::from_name);
    Chunk {
        kind: kind.unwrap_or_default(),
        text: chunk.delta.decode().into_owned(),
        tool_name: owned(chunk.tool_name),
        tool_call_id: owned(chunk.tool_call_id),
        extra: None,
        waiting_for: None,
    }
}

pub(super) fn call_done(done: &CallDone<'_>) -> Done {
    let offer = done
        .file_transfer_offer
        .map(|offer| offer.to_owned().into());
    Done {
        attachments: done.attachments.iter().map(file).collect(),
        file_transfer_offer: offer,
        ..Done::default()
    }
}
