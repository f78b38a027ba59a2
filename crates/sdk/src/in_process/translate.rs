//! Pure functions between what an agent says and hears and the core's types. No state.

use jackfield_core::{
    agent::Profile,
    call::Call,
    entry::AgentView,
    event::{self, Json},
    failure::{self, Reason},
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{
    Agent, Artifact, Chunk, Done, Failure, Message, Part, Peer,
    agent::{self, Ask, AskKind, ChunkKind, Closing, End, Heard, State},
};

/// What an agent says of itself. Both sides write what it says besides its name as the same JSON.
pub(super) fn profile_of(agent: &Agent) -> Profile {
    let besides = value(&agent.profile).and_then(|besides| serde_json::from_value(besides).ok());
    Profile {
        name: agent.name.clone().unwrap_or_else(|| agent.id.clone()),
        description: agent.description.clone(),
        agent_type: agent.agent_type.clone(),
        ..besides.unwrap_or_default()
    }
}

/// What a call brings to the handler: the same as over the bridge.
pub(super) fn message_of(call: &Call) -> Message {
    let message = &call.message;
    let metadata = message.metadata.as_ref();
    let metadata: Option<Value> = metadata.and_then(|json| serde_json::from_str(json.get()).ok());
    let known = |name: &str| metadata.as_ref().and_then(|metadata| metadata.get(name));
    Message {
        text: message.words(),
        caller: Some(call.principal.label().to_owned()),
        session: call.agent_session.to_string(),
        request_id: call.request.to_string(),
        parts: parts_of(&message.parts),
        message_id: message.id.clone(),
        task_id: call.task.map(|task| task.to_string()),
        context_id: Some(call.session.to_string()),
        call: Some(call.id.to_string()),
        client_id: known("client_id").and_then(|id| Some(id.as_str()?.to_owned())),
        with_files: known("with_files").is_some_and(|wanted| wanted == true),
        metadata,
    }
}

/// Both sides write parts as the same JSON.
fn parts_of(parts: &[event::Part]) -> Vec<Part> {
    let values = parts.iter().map(|part| value(part).unwrap_or_default());
    Part::read_all(values.collect())
}

fn value(value: &impl Serialize) -> Option<Value> {
    serde_json::to_value(value).ok()
}

fn json(value: &Value) -> Option<Json> {
    Json::of(value).ok()
}

/// An answer for the handler that asked.
pub(super) fn heard(answer: event::Answer) -> Heard {
    Heard {
        text: answer.content.unwrap_or_default(),
        parts: parts_of(&answer.parts),
        approved: answer.approved,
        reason: answer.reason,
    }
}

/// A piece of the answer.
pub(super) fn chunk(chunk: agent::Chunk) -> event::Chunk {
    event::Chunk {
        kind: match chunk.kind {
            ChunkKind::Text => event::ChunkKind::Text,
            ChunkKind::Thinking => event::ChunkKind::Thinking,
            ChunkKind::ToolStart => event::ChunkKind::ToolStart,
            ChunkKind::ToolInput => event::ChunkKind::ToolInput,
            ChunkKind::ToolResult => event::ChunkKind::ToolResult,
            ChunkKind::Status => event::ChunkKind::Status,
        },
        text: chunk.text,
        tool_name: chunk.tool_name,
        tool_call_id: chunk.tool_call_id,
        extra: None,
    }
}

/// Something that the agent made.
pub(super) fn artifact(artifact: Artifact) -> Result<event::Artifact, failure::Failure> {
    let parts = value(&artifact.parts).map(|parts| parts.to_string());
    let parts = parts.and_then(|parts| serde_json::from_str(&parts).ok());
    let unwritable = || {
        let text = "the agent made something that cannot be written down";
        failure::Failure::new(Reason::Internal, text)
    };
    Ok(event::Artifact {
        id: artifact.id,
        name: artifact.name,
        parts: parts.ok_or_else(unwritable)?,
        append: artifact.append,
        last: artifact.last,
        extra: None,
    })
}

/// A question, and where its answer is awaited.
pub(super) fn ask(ask: Ask) -> (event::Ask, oneshot::Sender<Heard>) {
    let question = event::Ask {
        id: ask.id,
        kind: match ask.kind {
            AskKind::Input => event::AskKind::Input,
            AskKind::Approval => event::AskKind::Approval,
        },
        text: ask.text,
        tool_name: ask.tool_name,
        tool_call_id: None,
        arguments: ask.arguments.as_ref().and_then(json),
        schema: ask.schema.as_ref().and_then(json),
    };
    (question, ask.answer)
}

/// How the agent's work ended.
pub(super) fn end(end: End) -> event::End {
    match end {
        End::Done(closing) => event::End::Done(Box::new(done(closing))),
        End::Failed(failure) => event::End::Failed(failed(failure)),
    }
}

fn done(closing: Closing) -> event::Done {
    let file = |file| value(&file).and_then(|file| serde_json::from_value(file).ok());
    event::Done {
        state: match closing.state {
            State::Completed | State::Message => event::DoneState::Completed,
            State::InputRequired | State::AuthRequired => event::DoneState::InputRequired,
            State::Rejected => event::DoneState::Rejected,
        },
        result: closing.result,
        attachments: closing.attachments.into_iter().filter_map(file).collect(),
        usage: closing.usage.as_ref().and_then(json),
        stop_reason: closing.stop_reason,
        file_transfer_offer: None,
        is_message: closing.state == State::Message,
        needs_auth: closing.state == State::AuthRequired,
    }
}

/// A handler's failure: its crash and its busyness are the hub's too, the rest stays its own, as over the bridge.
fn failed(failure: Failure) -> failure::Failure {
    let reason = match failure.code.as_str() {
        "adapter_crash" => Reason::Crashed,
        "agent_busy" => Reason::Busy,
        "timeout" => Reason::Timeout,
        code => Reason::of_agent(code),
    };
    failure::Failure::new(reason, failure.message)
}

/// A piece of another agent's answer, for the handler that called it.
pub(super) fn chunk_for(chunk: event::Chunk) -> Chunk {
    Chunk {
        kind: chunk.kind.name().to_owned(),
        text: chunk.text,
        tool_name: chunk.tool_name,
        tool_call_id: chunk.tool_call_id,
    }
}

/// The end of another agent's answer, with the files that came before it. Both sides write it as the same JSON.
pub(super) fn done_for(mut done: event::Done, files: Vec<event::File>) -> Done {
    done.attachments.extend(files);
    let done = value(&done).and_then(|done| serde_json::from_value(done).ok());
    done.unwrap_or_default()
}

/// Another agent.
pub(super) fn peer(view: AgentView) -> Peer {
    let profile = view.profile;
    Peer {
        id: view.id.to_string(),
        name: profile.name,
        agent_type: profile.agent_type.unwrap_or(view.door),
        skills: profile.skills.into_iter().map(|skill| skill.id).collect(),
        description: profile.description,
        is_online: view.online,
    }
}
