//! Pure functions between the bridge's frames and the types of the core. No sockets, no hub.

use jackfield_core::{call::Call, entry::AgentView};
use jackfield_kit::files::Files;
use jackfield_model::{
    Answer, Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Json, Part,
};
use jackfield_wire::{
    bridge::{
        downlink::{self, DiscoveredAgent, Message, MessageMeta},
        is_free_client_id, uplink,
    },
    json::{self, JsonText, RawMembers},
};
use serde_json::value::RawValue;

use crate::{
    attachment::{attachment_from_file, file_from_attachment},
    client,
    link::Extensions,
};

/// Returns the `message` frame that delivers a [`Call`] to its agent.
pub(crate) fn frame_from_call(call: &Call, extensions: Extensions, links: &Files) -> String {
    // Without `meta`, the text is all that an agent sees of data parts.
    let content = if extensions.meta {
        call.message.joined_text()
    } else {
        call.message.joined_text_and_data()
    };
    let attachments: Vec<_> = call
        .message
        .files()
        .map(|file| attachment_from_file(file, links))
        .collect();
    let metadata = call.message.metadata.as_ref().map(Json::raw);
    let known = metadata.and_then(RawMembers::of);
    let (message_id, task_id) = (
        call.message.id.as_deref(),
        call.task.map(|task| task.to_string()),
    );
    let call_id = call.id.to_string();
    let parts = extensions
        .meta
        .then(|| serde_json::value::to_raw_value(&call.message.parts).ok())
        .flatten();
    let meta = extensions.meta.then(|| MessageMeta {
        message_id: message_id.map(Into::into),
        task_id: task_id.as_deref().map(Into::into),
        context_id: Some(call.session.as_str().into()),
        parts: parts.as_deref(),
        metadata,
        caller: Some(call.principal.label().into()),
        parent: Some(call_id.as_str().into()),
    });
    let with_files = known
        .as_ref()
        .and_then(|known| known.get("with_files"))
        .is_some_and(|raw| raw.get() == "true");
    // Callers of other doors may have set the id, and agents create a folder with its name.
    let named = known
        .as_ref()
        .and_then(|known| known.text("client_id"))
        .filter(|id| is_free_client_id(id));
    // Only folders of clients are offered.
    let own = || client::of_caller(&call.principal).filter(|_| with_files);
    let client_id = named.or_else(|| own().map(Into::into));
    downlink::message(&Message {
        session_id: call.agent_session.as_str().into(),
        request_id: call.request.as_str().into(),
        content: JsonText::from(content.as_str()),
        attachments,
        client_id,
        with_files,
        meta,
    })
}

/// Converts a [`Chunk`](uplink::Chunk) of an agent's answer. An unknown kind becomes text, because it is part
/// of the answer.
pub(crate) fn chunk_from_wire(chunk: &uplink::Chunk<'_>) -> Chunk {
    Chunk {
        kind: chunk
            .kind
            .as_deref()
            .and_then(ChunkKind::from_name)
            .unwrap_or_default(),
        text: chunk.delta.decode().into_owned(),
        tool_name: chunk.tool_name.as_deref().map(str::to_owned),
        tool_call_id: chunk.tool_call_id.as_deref().map(str::to_owned),
        extra: None,
        waiting_for: None,
    }
}

/// Returns whether an end is empty: no result, no state, no files.
pub(crate) fn is_empty_end(done: &uplink::Done<'_>) -> bool {
    let result = done.result.as_ref().map(|text| text.decode());
    result.is_none_or(|text| text.is_empty())
        && done.state.is_none()
        && done.attachments.is_empty()
        && done.file_transfer_offer.is_none()
}

/// Converts the [`End`] of an agent's answer. A `result` above `max_repeated` bytes is omitted, because it
/// repeats the streamed text.
pub(crate) fn end_from_done(done: &uplink::Done<'_>, max_repeated: Option<usize>) -> End {
    let state = match done.state.as_deref() {
        Some("input_required" | "auth_required") => DoneState::InputRequired,
        Some("rejected") => DoneState::Rejected,
        _ => DoneState::Completed,
    };
    End::Done(Box::new(Done {
        state,
        result: done
            .result
            .as_ref()
            .filter(|text| max_repeated.is_none_or(|max| text.size_hint() <= max))
            .map(|text| text.decode().into_owned()),
        attachments: done.attachments.iter().map(file_from_attachment).collect(),
        usage: done.usage.map(json_from),
        stop_reason: done.stop_reason.as_deref().map(str::to_owned),
        file_transfer_offer: done.file_transfer_offer.map(json_from),
        is_message: done.state.as_deref() == Some("message"),
        needs_auth: done.state.as_deref() == Some("auth_required"),
    }))
}

fn json_from(raw: &RawValue) -> Json {
    raw.to_owned().into()
}

/// An invalid part of an artifact: its field, and the problem.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPart {
    pub(crate) field: String,
    pub(crate) problem: String,
}

/// Converts an artifact of an agent into an [`Event`].
pub(crate) fn event_from_artifact(artifact: &uplink::Artifact<'_>) -> Result<Event, BadPart> {
    let parts = json::elements(artifact.parts).unwrap_or_default();
    let parts = parts.into_iter().enumerate().map(|(index, raw)| {
        part_from(raw).ok_or_else(|| BadPart {
            field: format!("parts[{index}]"),
            problem: PART.to_owned(),
        })
    });
    Ok(Event::Artifact(Artifact {
        id: artifact.artifact_id.to_string(),
        name: artifact.name.as_deref().map(str::to_owned),
        parts: parts.collect::<Result<_, _>>()?,
        append: artifact.append,
        last: artifact.last,
        extra: None,
    }))
}

/// Allowed forms of a part, phrased as the end of a sentence.
const PART: &str = "must be {\"text\": TEXT}, {\"data\": JSON} or {\"file\": {\"name\"?, \"mime\"?, \"uri\" or \"bytes\"}}";

fn part_from(raw: &RawValue) -> Option<Part> {
    serde_json::from_str(raw.get()).ok()
}

/// Converts a question of an agent into an [`Ask`].
pub(crate) fn ask_from_wire(ask: &uplink::Ask<'_>) -> Ask {
    Ask {
        id: ask.ask_id.to_string(),
        kind: if ask.kind == "approval" {
            AskKind::Approval
        } else {
            AskKind::Input
        },
        text: ask.text.to_string(),
        tool_name: ask.tool_name.as_deref().map(str::to_owned),
        tool_call_id: ask.tool_call_id.as_deref().map(str::to_owned),
        arguments: ask.arguments.map(json_from),
        schema: ask.schema.map(json_from),
    }
}

/// Returns the frame that delivers the [`Answer`] to a question.
pub(crate) fn frame_from_answer(request_id: &str, ask_id: &str, answer: &Answer) -> String {
    let parts = if answer.parts.is_empty() {
        None
    } else {
        serde_json::value::to_raw_value(&answer.parts).ok()
    };
    downlink::answer(&downlink::Answer {
        request_id: request_id.into(),
        ask_id: ask_id.into(),
        content: answer.content.as_deref().map(Into::into),
        parts: parts.as_deref(),
        approved: answer.approved,
        reason: answer.reason.as_deref().map(Into::into),
    })
}

/// Converts an [`AgentView`] into an entry of the discovery result.
pub(crate) fn entry_from_view(view: &AgentView) -> DiscoveredAgent<'_> {
    DiscoveredAgent {
        id: view.id.as_str().into(),
        name: Some(view.profile.name.as_str().into()),
        agent_type: view
            .profile
            .agent_type
            .as_deref()
            .unwrap_or(&view.door)
            .into(),
        capabilities: view
            .profile
            .skills
            .iter()
            .map(|skill| skill.id.as_str().into())
            .collect(),
        is_online: view.online,
        description: view.profile.description.as_deref().map(Into::into),
    }
}
