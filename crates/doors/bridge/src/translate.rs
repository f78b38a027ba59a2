//! Pure functions between the bridge's frames and the core's types. No sockets, no hub.

use jackfield_core::{call::Call, entry::AgentView};
use jackfield_model::{
    Answer, Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Json, Part,
};
use jackfield_wire::{
    bridge::{
        downlink::{self, AgentEntry, Message, Meta},
        is_free_client_id, uplink,
    },
    json::{self, Members, Text},
};
use serde_json::value::RawValue;

use crate::{
    attachment::{attachment_from_file, file_from_attachment},
    client,
    link::Extensions,
};

/// The `message` that brings a call to its agent.
pub(crate) fn frame_from_call(call: &Call, extensions: Extensions) -> String {
    // Where there is no `meta`, this text is all that an agent sees of data.
    let content = if extensions.meta {
        call.message.words()
    } else {
        call.message.words_and_data()
    };
    let attachments: Vec<_> = call
        .message
        .files()
        .map(|file| attachment_from_file(file, call.files()))
        .collect();
    let metadata = call.message.metadata.as_ref().map(Json::raw);
    let known = metadata.and_then(Members::of);
    let (message_id, task_id) = (
        call.message.id.as_deref(),
        call.task.map(|task| task.to_string()),
    );
    let call_id = call.id.to_string();
    let parts = extensions
        .meta
        .then(|| serde_json::value::to_raw_value(&call.message.parts).ok())
        .flatten();
    let meta = extensions.meta.then(|| Meta {
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
    // Callers of other doors may have written it, and agents make a folder of that name.
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
        content: Text::from(content.as_str()),
        attachments,
        client_id,
        with_files,
        meta,
    })
}

/// A piece of an agent's answer. An unknown kind is text: it is still what the agent said.
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

/// Whether an end says nothing at all, not even how it ended.
pub(crate) fn is_wordless(done: &uplink::Done<'_>) -> bool {
    let result = done.result.as_ref().map(|text| text.decode());
    result.is_none_or(|text| text.is_empty())
        && done.state.is_none()
        && done.attachments.is_empty()
        && done.file_transfer_offer.is_none()
}

/// The end of an agent's answer. A `result` above `max_repeated` bytes, which repeats what chunks said, is left out.
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

/// A part of an artifact that is none: where it stands, and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPart {
    pub(crate) field: String,
    pub(crate) problem: String,
}

/// Something an agent made.
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

/// What a part must be, as the end of a sentence about it.
const PART: &str = "must be {\"text\": TEXT}, {\"data\": JSON} or {\"file\": {\"name\"?, \"mime\"?, \"uri\" or \"bytes\"}}";

fn part_from(raw: &RawValue) -> Option<Part> {
    serde_json::from_str(raw.get()).ok()
}

/// A question of an agent.
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

/// The frame that brings the answer to a question.
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

/// An agent as others discover it.
pub(crate) fn entry_from_view(view: &AgentView) -> AgentEntry<'_> {
    AgentEntry {
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
