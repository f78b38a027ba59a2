//! Completion of published envelopes with missing fields.

use jackfield_wire::read::read_part;

use super::event_id::event_id;
use super::frame::json;
use super::innermost::InnermostEvent;
use super::publish::AgentData;
use super::splice::{InsertAt, Splice};
use super::{PublishedEnvelope, PublishedSource};

/// Values that [`complete`] fills in.
#[derive(Debug, Clone, Copy)]
pub struct EnvelopeDefaults<'a> {
    /// Team that received the envelope.
    pub team_id: &'a str,
    /// Source of the envelope's id.
    pub event_id: u128,
    /// Publishing time: RFC 3339 with milliseconds and `Z`.
    pub at: &'a str,
    /// Agent of the event.
    pub agent_id: Option<&'a str>,
}

/// Adds missing fields to a [`PublishedEnvelope`] envelope: `event_id`, `timestamp` and `team_id` at the outermost
/// level, and the innermost `agent_id`. All given fields stay unchanged, byte for byte.
pub fn complete(published: &PublishedEnvelope<'_>, fill: &EnvelopeDefaults<'_>) -> String {
    let raw = published.raw;
    let mut missing = Vec::new();
    if published.event_id.is_none() {
        missing.push(("event_id", json(&event_id(fill.event_id, 0))));
    }
    if published.timestamp.is_none() {
        missing.push(("timestamp", json(&fill.at)));
    }
    if !matches!(published.team_ids.first(), Some(Some(_))) {
        missing.push(("team_id", json(&fill.team_id)));
    }
    let mut splice = Splice::of(raw);
    splice.set(raw, &missing, InsertAt::First);
    if let (PublishedSource::Agent { agent_id: None, .. }, Some(agent_id)) =
        (&published.said, fill.agent_id)
    {
        let agent =
            InnermostEvent::of(raw).and_then(|leaf| read_part::<AgentData<'_>>(leaf.data).ok());
        if let Some(event) = agent.and_then(|agent| agent.agent_event) {
            splice.set(event, &[("agent_id", json(&agent_id))], InsertAt::First);
        }
    }
    splice.finish()
}
