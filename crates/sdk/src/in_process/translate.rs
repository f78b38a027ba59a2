//! Pure conversions between SDK types and the core's types. No state.

use jackfield_core::{agent::Profile, call::Call, entry::AgentView};
use jackfield_model as event;
use jackfield_model::{Reason, failure};

use crate::{Agent, AgentFailure, Done, Json, Message, PeerInfo, agent::HandlerEnd};

/// Converts an agent's description. Both [`Profile`] types have the same JSON form.
pub(super) fn profile_of(agent: &Agent) -> Profile {
    let besides = serde_json::to_value(&agent.profile);
    let besides = besides.and_then(serde_json::from_value).ok();
    Profile {
        name: agent.name.clone().unwrap_or_else(|| agent.id.clone()),
        description: agent.description.clone(),
        agent_type: agent.agent_type.clone(),
        ..besides.unwrap_or_default()
    }
}

/// Converts a call into the handler's message: the same content as over the bridge.
pub(super) fn message_of(call: &Call) -> Message {
    let message = &call.message;
    let metadata = message.metadata.as_ref().map(Json::to_value);
    let known = |name: &str| metadata.as_ref().and_then(|metadata| metadata.get(name));
    Message {
        text: message.joined_text(),
        caller: Some(call.principal.label().to_owned()),
        session: call.agent_session.to_string(),
        request_id: call.request.to_string(),
        parts: message.parts.clone(),
        message_id: message.id.clone(),
        task_id: call.task.map(|task| task.to_string()),
        context_id: Some(call.session.to_string()),
        call: Some(call.id.to_string()),
        client_id: known("client_id").and_then(|id| Some(id.as_str()?.to_owned())),
        with_files: known("with_files").is_some_and(|wanted| wanted == true),
        metadata,
    }
}

/// Converts the end of the agent's work. Drops an offer of files, because callers could not fetch them.
pub(super) fn end(end: HandlerEnd) -> event::End {
    match end {
        HandlerEnd::Done(done) => event::End::Done(Box::new(Done {
            file_transfer_offer: None,
            ..done
        })),
        HandlerEnd::Failed(failure) => event::End::Failed(failed(failure)),
    }
}

/// Converts a handler's failure. The codes for crash, busy and timeout have a [`Reason`] of the hub; other
/// codes stay the agent's own, as over the bridge.
fn failed(failure: AgentFailure) -> failure::Failure {
    let reason = match failure.code.as_str() {
        "adapter_crash" => Reason::Crashed,
        "agent_busy" => Reason::Busy,
        "timeout" => Reason::Timeout,
        code => Reason::from_agent_code(code),
    };
    failure::Failure::new(reason, failure.message)
}

/// Converts an agent's view into a [`PeerInfo`].
pub(super) fn peer(view: AgentView) -> PeerInfo {
    let profile = view.profile;
    PeerInfo {
        id: view.id.to_string(),
        name: profile.name,
        agent_type: profile.agent_type.unwrap_or(view.door),
        skills: profile.skills.into_iter().map(|skill| skill.id).collect(),
        description: profile.description,
        is_online: view.online,
    }
}
