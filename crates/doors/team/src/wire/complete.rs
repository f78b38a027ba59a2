//! Filling in what a runtime left out of the envelope that it published.

use jackfield_wire::read::read_part;

use super::event_id::event_id;
use super::frame::json;
use super::leaf::Leaf;
use super::publish::Agent;
use super::splice::{End, Splice};
use super::{Published, Said};

/// What is filled in where it is missing.
#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    /// The team that it was published to.
    pub team_id: &'a str,
    /// What the envelope's id is made of.
    pub event_id: u128,
    /// When it was published: RFC 3339 with milliseconds and `Z`.
    pub at: &'a str,
    /// The agent that the event is of.
    pub agent_id: Option<&'a str>,
}

/// The published envelope with `event_id`, `timestamp` and `team_id` of its outermost level, and the innermost
/// `agent_id`. All that was given stays as it is, byte for byte.
pub fn complete(published: &Published<'_>, fill: &Fill<'_>) -> String {
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
    splice.set(raw, &missing, End::First);
    if let (Said::Agent { agent_id: None, .. }, Some(agent_id)) = (&published.said, fill.agent_id) {
        let agent = Leaf::of(raw).and_then(|leaf| read_part::<Agent<'_>>(leaf.data).ok());
        if let Some(event) = agent.and_then(|agent| agent.agent_event) {
            splice.set(event, &[("agent_id", json(&agent_id))], End::First);
        }
    }
    splice.finish()
}
