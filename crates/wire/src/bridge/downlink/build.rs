//! Builders for the frames of the hub, as text ready for the socket. Fields are in the order of the seed;
//! absent and empty fields are left out, except `message.attachments`.

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Attachment, OVERHEAD};
use super::{
    Ack, Answer, CallChunk, CallDone, CallError, Cancel, DiscoveredAgent, HubError, Message,
    Registered, RtcRelay,
};
use crate::json::{JsonText, to_json};

fn len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len())
}

/// A `registered` frame that accepts an agent.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "registered")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AcceptedFrame<'a> {
    /// Always `ok`.
    #[cfg_attr(feature = "schema", schema(pattern = "^ok$"))]
    status: &'static str,
    #[serde(flatten)]
    registered: &'a Registered<'a>,
}

/// A `registered` frame that refuses an agent.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "registered")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RefusedFrame<'a> {
    /// Always `error`.
    #[cfg_attr(feature = "schema", schema(pattern = "^error$"))]
    status: &'static str,
    /// Reason, for people.
    error: &'a str,
}

/// A `discover_agents_result` frame.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "discover_agents_result")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DiscoverAgentsResultFrame<'a> {
    /// Agents that match.
    agents: &'a [DiscoveredAgent<'a>],
}

/// Builds a `registered` frame that accepts an agent, from [`Registered`].
pub fn registered(registered: &Registered<'_>) -> String {
    let accepted = AcceptedFrame {
        status: "ok",
        registered,
    };
    to_json(&accepted, OVERHEAD)
}

/// Builds a `registered` frame that refuses an agent. The connection must be closed after the frame.
pub fn refused(error: &str) -> String {
    let refused = RefusedFrame {
        status: "error",
        error,
    };
    to_json(&refused, OVERHEAD + error.len())
}

/// Builds a `message` frame from [`Message`].
pub fn message(message: &Message<'_>) -> String {
    let size = message.content.size_hint() + Attachment::size_hint(&message.attachments);
    to_json(message, OVERHEAD + size)
}

/// Builds a `cancel` frame.
pub fn cancel(session_id: &str, request_id: &str) -> String {
    let cancel = Cancel {
        session_id: session_id.into(),
        request_id: request_id.into(),
    };
    to_json(&cancel, OVERHEAD)
}

/// Builds a `discover_agents_result` frame from [`DiscoveredAgent`] values.
pub fn discover_agents_result(entries: &[DiscoveredAgent<'_>]) -> String {
    const ENTRY: usize = 192;
    let found = DiscoverAgentsResultFrame { agents: entries };
    to_json(&found, OVERHEAD + entries.len() * ENTRY)
}

/// Builds a `call_agent_chunk` frame from [`CallChunk`].
pub fn call_agent_chunk(chunk: &CallChunk<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// Builds a `call_agent_done` frame from [`CallDone`].
pub fn call_agent_done(done: &CallDone<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments) + len(done.file_transfer_offer);
    to_json(done, OVERHEAD + size)
}

/// Builds a `call_agent_error` frame from [`CallError`].
pub fn call_agent_error(error: &CallError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}

/// Builds an `rtc_signal_relay` frame from [`RtcRelay`].
pub fn rtc_signal_relay(relay: &RtcRelay<'_>) -> String {
    to_json(
        relay,
        OVERHEAD + len(relay.payload) + len(relay.ice_servers),
    )
}

/// Builds an `ack` frame.
pub fn ack(request_id: &str, seq: u64) -> String {
    let ack = Ack {
        request_id: request_id.into(),
        seq,
    };
    to_json(&ack, OVERHEAD)
}

/// Builds an `answer` frame from [`Answer`].
pub fn answer(answer: &Answer<'_>) -> String {
    let words = answer.content.as_deref().unwrap_or_default();
    let size = JsonText::Plain(words).size_hint() + len(answer.parts);
    to_json(answer, OVERHEAD + size)
}

/// Builds an `error` frame from [`HubError`], about a frame of the agent.
pub fn error(error: &HubError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}
