//! Builders for the frames of an agent, as text ready for the socket. Used by the SDK, never by the hub.
//! Fields are in the order of the seed's examples; absent fields are left out.

use serde_json::value::RawValue;

use super::super::{Attachment, OVERHEAD};
use super::{
    AgentError, Artifact, Ask, CallAgent, Chunk, DiscoverAgents, Done, Heartbeat, Register,
    RtcSignal,
};
use crate::json::{JsonText, to_json};

fn len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len())
}

/// Builds a `register` frame from [`Register`].
pub fn register(register: &Register<'_>) -> String {
    to_json(register, OVERHEAD)
}

/// Builds a `chunk` frame from [`Chunk`].
pub fn chunk(chunk: &Chunk<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// Builds a `done` frame from [`Done`].
pub fn done(done: &Done<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments)
        + done.result.as_ref().map_or(0, JsonText::size_hint)
        + len(done.file_transfer_offer);
    to_json(done, OVERHEAD + size)
}

/// Builds an `error` frame from [`AgentError`].
pub fn error(error: &AgentError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}

/// Builds a `heartbeat` frame from [`Heartbeat`].
pub fn heartbeat(heartbeat: Heartbeat) -> String {
    to_json(&heartbeat, OVERHEAD)
}

/// Builds a `discover_agents` frame from [`DiscoverAgents`].
pub fn discover_agents(discover: &DiscoverAgents<'_>) -> String {
    to_json(discover, OVERHEAD)
}

/// Builds a `call_agent` frame from [`CallAgent`].
pub fn call_agent(call: &CallAgent<'_>) -> String {
    let size = JsonText::Plain(&call.task_description).size_hint();
    to_json(call, OVERHEAD + size)
}

/// Builds an `rtc_signal` frame from [`RtcSignal`].
pub fn rtc_signal(signal: &RtcSignal<'_>) -> String {
    to_json(signal, OVERHEAD + len(signal.payload))
}

/// Builds an `artifact` frame from [`Artifact`].
pub fn artifact(artifact: &Artifact<'_>) -> String {
    to_json(artifact, OVERHEAD + artifact.parts.get().len())
}

/// Builds an `ask` frame from [`Ask`].
pub fn ask(ask: &Ask<'_>) -> String {
    to_json(ask, OVERHEAD + 2 * ask.text.len() + len(ask.arguments))
}
