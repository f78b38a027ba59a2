//! Envelope of the seed: an event with its ids, inside a wrapper for each team around it.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::event_id::event_id;
use super::event_type::EventType;
use super::frame::json;
use super::outgoing::SourceType;
use super::splice::{End, Splice};
use super::task::PlanData;
use super::{MemberEvent, Outgoing, Source, Stamp, TeamStatus};

/// Level of an envelope.
#[derive(Serialize)]
struct Level<'a> {
    event_id: Uuid,
    timestamp: &'a str,
    team_id: &'a str,
    event_source_type: SourceType,
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_run_id: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Team {
        new_status: TeamStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        old_status: Option<TeamStatus>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    Agent {
        agent_name: &'a str,
        agent_event: AgentEvent<'a>,
    },
    Plan(Option<PlanData<'a>>),
    SubTeam {
        sub_team_node_name: &'a str,
        sub_team_event: Inner<'a>,
    },
}

#[derive(Serialize)]
struct AgentEvent<'a> {
    event_id: Uuid,
    timestamp: &'a str,
    agent_id: &'a str,
    event_type: EventType,
    data: MemberEvent<'a>,
}

/// Content of a wrapper.
#[derive(Serialize)]
#[serde(untagged)]
enum Inner<'a> {
    Level(Box<Level<'a>>),
    Published(&'a RawValue),
}

/// Writes the envelope of an [`Outgoing`] event.
///
/// Each level has its own id, derived from `event_id`; the same event yields the same ids. The outermost
/// level carries `sequence` and `team_run_id` after the seed's own fields. A published envelope stays
/// unchanged, byte for byte. If a published envelope is the outermost level, the two fields are added or
/// replaced.
pub fn write_envelope(event: &Outgoing<'_>, stamp: &Stamp<'_>) -> String {
    if let (Source::Published(raw), []) = (event.source, event.path) {
        return stamped(raw, stamp);
    }
    json(&Level {
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
    splice.set(raw, &fields, End::Last);
    splice.finish()
}

/// Builds the envelope at level `at`; 0 is the outermost.
fn level<'a>(event: &Outgoing<'a>, at: usize) -> Level<'a> {
    let above = &event.path[..at];
    let team_id = above.last().map_or(event.team_id, |node| node.team_id);
    let (event_source_type, data) = match event.path.get(at) {
        None => (event.source.source_type(), data(event, team_id)),
        Some(node) => {
            let inner = match event.source {
                Source::Published(raw) if at + 1 == event.path.len() => Inner::Published(raw),
                _ => Inner::Level(Box::new(level(event, at + 1))),
            };
            let data = Data::SubTeam {
                sub_team_node_name: node.name,
                sub_team_event: inner,
            };
            (SourceType::SubTeam, data)
        }
    };
    Level {
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
fn data<'a>(event: &Outgoing<'a>, team_id: &'a str) -> Data<'a> {
    match event.source {
        Source::Team {
            new,
            old,
            error_message,
        } => Data::Team {
            new_status: new,
            old_status: old,
            error_message,
        },
        Source::Agent {
            name,
            agent_id,
            event: said,
        } => Data::Agent {
            agent_name: name,
            agent_event: AgentEvent {
                event_id: event_id(event.event_id, event.path.len() + 1),
                timestamp: event.at,
                agent_id,
                event_type: said.event_type(),
                data: said.of_agent(agent_id),
            },
        },
        // A published envelope replaces the level, so the value is never written.
        Source::TasksCreated { .. } | Source::TaskStatus { .. } | Source::Published(_) => {
            Data::Plan(PlanData::of(&event.source, team_id))
        }
    }
}
