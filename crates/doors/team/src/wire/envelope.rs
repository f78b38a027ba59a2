//! Envelope of the seed: an event with its ids, inside a wrapper for each team around it.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::event_id::event_id;
use super::event_type::AgentEventType;
use super::frame::json;
use super::outgoing::SourceType;
use super::splice::{InsertAt, Splice};
use super::task::PlanChange;
use super::{AgentEventData, EventSource, OutgoingEvent, Stamp, TeamStatus};

/// Level of an envelope.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Envelope)]
pub(crate) struct EnvelopeOut<'a> {
    #[schema(value_type = String, format = "uuid")]
    event_id: Uuid,
    timestamp: &'a str,
    team_id: &'a str,
    event_source_type: SourceType,
    data: EnvelopeData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_run_id: Option<&'a str>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
enum EnvelopeData<'a> {
    Team {
        new_status: TeamStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        old_status: Option<TeamStatus>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    Agent {
        agent_name: &'a str,
        agent_event: AgentEventOut<'a>,
    },
    Plan(Option<PlanChange<'a>>),
    SubTeam {
        sub_team_node_name: &'a str,
        #[schema(schema_with = inner_envelope)]
        sub_team_event: InnerEnvelope<'a>,
    },
}

/// The envelope of a nested team has the form of the outermost.
fn inner_envelope() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    utoipa::openapi::Ref::from_schema_name("Envelope").into()
}

#[derive(Serialize, utoipa::ToSchema)]
struct AgentEventOut<'a> {
    #[schema(value_type = String, format = "uuid")]
    event_id: Uuid,
    timestamp: &'a str,
    agent_id: &'a str,
    event_type: AgentEventType,
    data: AgentEventData<'a>,
}

/// Content of a wrapper.
#[derive(Serialize)]
#[serde(untagged)]
enum InnerEnvelope<'a> {
    Level(Box<EnvelopeOut<'a>>),
    Published(&'a RawValue),
}

/// Writes the envelope of an [`OutgoingEvent`] event.
///
/// Each level has its own id, derived from `event_id`; the same event yields the same ids. The outermost
/// level carries `sequence` and `team_run_id` after the seed's own fields. A published envelope stays
/// unchanged, byte for byte. If a published envelope is the outermost level, the two fields are added or
/// replaced.
pub fn write_envelope(event: &OutgoingEvent<'_>, stamp: &Stamp<'_>) -> String {
    if let (EventSource::Published(raw), []) = (event.source, event.path) {
        return stamped(raw, stamp);
    }
    json(&EnvelopeOut {
        sequence: Some(stamp.sequence),
        team_run_id: Some(stamp.team_run_id),
        ..level(event, 0)
    })
}

/// Adds the hub's [`Stamp`] to a published envelope, replacing values set by the runtime.
fn stamped(raw: &RawValue, stamp: &Stamp<'_>) -> String {
    let fields = [
        ("sequence", stamp.sequence.to_string()),
        ("team_run_id", json(&stamp.team_run_id)),
    ];
    let mut splice = Splice::of(raw);
    splice.set(raw, &fields, InsertAt::Last);
    splice.finish()
}

/// Builds the envelope at level `at`; 0 is the outermost.
fn level<'a>(event: &OutgoingEvent<'a>, at: usize) -> EnvelopeOut<'a> {
    let above = &event.path[..at];
    let team_id = above.last().map_or(event.team_id, |node| node.team_id);
    let (event_source_type, data) = match event.path.get(at) {
        None => (event.source.source_type(), data(event, team_id)),
        Some(node) => {
            let inner = match event.source {
                EventSource::Published(raw) if at + 1 == event.path.len() => {
                    InnerEnvelope::Published(raw)
                }
                _ => InnerEnvelope::Level(Box::new(level(event, at + 1))),
            };
            let data = EnvelopeData::SubTeam {
                sub_team_node_name: node.name,
                sub_team_event: inner,
            };
            (SourceType::SubTeam, data)
        }
    };
    EnvelopeOut {
        event_id: event_id(event.event_id, at),
        timestamp: event.at,
        team_id,
        event_source_type,
        data,
        sequence: None,
        team_run_id: None,
    }
}

/// Builds the `data` of the innermost envelope of `team_id`.
fn data<'a>(event: &OutgoingEvent<'a>, team_id: &'a str) -> EnvelopeData<'a> {
    match event.source {
        EventSource::Team {
            new,
            old,
            error_message,
        } => EnvelopeData::Team {
            new_status: new,
            old_status: old,
            error_message,
        },
        EventSource::Agent {
            name,
            agent_id,
            event: said,
        } => EnvelopeData::Agent {
            agent_name: name,
            agent_event: AgentEventOut {
                event_id: event_id(event.event_id, event.path.len() + 1),
                timestamp: event.at,
                agent_id,
                event_type: said.event_type(),
                data: said.of_agent(agent_id),
            },
        },
        // A published envelope replaces the level, so the value is never written.
        EventSource::TasksCreated { .. }
        | EventSource::TaskStatus { .. }
        | EventSource::Published(_) => EnvelopeData::Plan(PlanChange::of(&event.source, team_id)),
    }
}
