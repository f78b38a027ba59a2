//! The frames an agent sends, as text ready for the socket. The SDK calls these; the hub never does.
//! Fields stand in the order of the seed's examples; what is absent is left out.

use serde_json::value::RawValue;

use super::super::{Attachment, OVERHEAD};
use super::{
    AgentError, Artifact, Ask, CallAgent, Chunk, DiscoverAgents, Done, Heartbeat, Register,
    RtcSignal,
};
use crate::json::{Text, to_json};

fn len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len())
}

/// A `register` frame.
pub fn register(register: &Register<'_>) -> String {
    to_json(register, OVERHEAD)
}

/// A `chunk` frame.
pub fn chunk(chunk: &Chunk<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// A `done` frame.
pub fn done(done: &Done<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments)
        + done.result.as_ref().map_or(0, Text::size_hint)
        + len(done.file_transfer_offer);
    to_json(done, OVERHEAD + size)
}

/// An `error` frame.
pub fn error(error: &AgentError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}

/// A `heartbeat` frame.
pub fn heartbeat(heartbeat: Heartbeat) -> String {
    to_json(&heartbeat, OVERHEAD)
}

/// A `discover_agents` frame.
pub fn discover_agents(discover: &DiscoverAgents<'_>) -> String {
    to_json(discover, OVERHEAD)
}

/// A `call_agent` frame.
pub fn call_agent(call: &CallAgent<'_>) -> String {
    let size = Text::Plain(&call.task_description).size_hint();
    to_json(call, OVERHEAD + size)
}

/// An `rtc_signal` frame.
pub fn rtc_signal(signal: &RtcSignal<'_>) -> String {
    to_json(signal, OVERHEAD + len(signal.payload))
}

/// An `artifact` frame.
pub fn artifact(artifact: &Artifact<'_>) -> String {
    to_json(artifact, OVERHEAD + artifact.parts.get().len())
}

/// An `ask` frame.
pub fn ask(ask: &Ask<'_>) -> String {
    to_json(ask, OVERHEAD + 2 * ask.text.len() + len(ask.arguments))
}
