//! Agents in the process of the hub, whose calls the test answers step by step ([`Scripted`]), and requests to them.

use jackfield_core::{
    agent::Profile,
    hub::{Hub, Request},
    principal::Principal,
};
use jackfield_kit::testing::{Manner, Scripted};
use jackfield_model::{AgentId, Message};

/// Attaches an agent of the owner `local` that accepts complete messages only.
pub fn attach_agent(hub: &Hub, id: &str) -> Scripted {
    attach_agent_as(hub, &Principal::local(), id, false)
}

/// Attaches an agent for a [`Principal`]; with `streams` the agent accepts streamed messages.
pub fn attach_agent_as(hub: &Hub, principal: &Principal, id: &str, streams: bool) -> Scripted {
    let profile = Profile {
        name: id.to_owned(),
        ..Profile::default()
    };
    let manner = Manner {
        is_lively: false,
        takes_streamed_input: streams,
        ..Manner::default()
    };
    Scripted::attach(hub, principal, id, profile, manner)
}

/// Creates a [`Request`] of the owner `local` through the test door.
pub fn fake_request(target: &str, text: &str) -> Request {
    let target = AgentId::parse(target).expect("an id");
    Request::new(Principal::local(), "local", target, Message::text(text))
}
