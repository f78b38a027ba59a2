//! Flattened form: the WebSocket message of an event, with the position among the payload's fields.

use std::borrow::Cow;

use serde::Serialize;

use super::frame::message;
use super::outgoing::{SourceType, route_key};
use super::segment::FlatSegment;
use super::task::PlanChange;
use super::{AgentEventData, EventSource, OutgoingEvent, Stamp, TeamStatus};

mod published;

const MEMBER_SCOPED: &str = "member_scoped";
const TEAM_SCOPED: &str = "team_scoped";
const TEAM_STATUS: &str = "TEAM_STATUS";
const TASK_PLAN_EVENT: &str = "TASK_PLAN_EVENT";
const TASKS_CREATED: &str = "TASKS_CREATED";
const TASK_STATUS_UPDATED: &str = "TASK_STATUS_UPDATED";

/// Payload of a team's message. Only serialized, never deserialized by a derived type: serde's `flatten`
/// costs no time when writing.
#[derive(Serialize)]
struct FlatPayload<'a, F> {
    /// Fields of the event itself.
    #[serde(flatten)]
    own: F,
    #[serde(flatten)]
    member: Option<MemberRef<'a>>,
    #[serde(flatten)]
    position: FlatPosition<'a>,
}

/// Position of an event in the team's stream.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct FlatPosition<'a> {
    event_scope: &'static str,
    /// Outermost node around the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_team_node_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_stream_event_envelope: Option<StreamStamp<'a>>,
}

/// Member of an event.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct MemberRef<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_token: Option<ApprovalTokenOut<'a>>,
    agent_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    member_route_key: &'a str,
}

/// Token that a viewer returns with its decision on a tool call.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalTokenOut<'a> {
    team_run_id: &'a str,
    run_version: u32,
    invocation_id: &'a str,
    /// Constant: an invocation has a single version in the hub.
    invocation_version: u32,
    target_member_name: &'a str,
}

/// Run and number of an event.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct StreamStamp<'a> {
    team_run_id: &'a str,
    run_version: u32,
    sequence: u64,
    source_node_id: &'a str,
    origin: &'static str,
    event_type: Cow<'static, str>,
    received_at: &'a str,
}

/// Fields of a team's own event.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct TeamFields<'a> {
    new_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

/// Fields of a board change.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct PlanFields<P> {
    event_type: &'static str,
    #[serde(flatten)]
    change: P,
}

/// Fields of a member's event.
#[derive(Serialize)]
#[serde(untagged)]
enum MemberFields<'a> {
    Segment(FlatSegment<'a>),
    Other(AgentEventData<'a>),
}

impl<'a> MemberFields<'a> {
    fn of(event: AgentEventData<'a>) -> Self {
        match event {
            AgentEventData::Segment(segment) => Self::Segment(segment.flat()),
            other => Self::Other(other),
        }
    }
}

/// Position of an event, common to all payloads.
#[derive(Clone, Copy)]
struct FlatContext<'a> {
    stamp: Option<&'a Stamp<'a>>,
    /// Outermost node around the event.
    outermost: Option<&'a str>,
    /// Number of nodes around the event.
    depth: usize,
    source: SourceType,
}

impl<'a> FlatContext<'a> {
    /// Returns the message with the event's own fields. `name` is the stamp's event type for an event without
    /// nodes around it.
    fn message<F: Serialize>(
        self,
        message_type: &str,
        name: &'static str,
        own: F,
        member: Option<MemberRef<'a>>,
    ) -> String {
        let stamp = self.stamp.filter(|stamp| stamp.sequence > 0);
        let position = FlatPosition {
            event_scope: match member {
                Some(_) => MEMBER_SCOPED,
                None => TEAM_SCOPED,
            },
            sub_team_node_name: self.outermost,
            team_stream_event_envelope: stamp.map(|stamp| StreamStamp {
                team_run_id: stamp.team_run_id,
                run_version: stamp.run_version,
                sequence: stamp.sequence,
                source_node_id: stamp.source_node_id,
                origin: stamp.origin,
                event_type: self.event_type(name),
                received_at: stamp.received_at,
            }),
        };
        let payload = FlatPayload {
            own,
            member,
            position,
        };
        message(message_type, payload)
    }

    /// Returns the event type for the stamp.
    fn event_type(self, name: &'static str) -> Cow<'static, str> {
        match (self.depth, self.source) {
            (0, SourceType::Agent) => format!("AGENT:{name}").into(),
            (0, SourceType::TaskPlan) => format!("TASK_PLAN:{name}").into(),
            (0, SourceType::Team | SourceType::SubTeam) => name.into(),
            (1, SourceType::Agent) => "SUB_TEAM:AGENT".into(),
            (1, SourceType::TaskPlan) => "SUB_TEAM:TASK_PLAN".into(),
            (1, SourceType::Team) => "SUB_TEAM:TEAM".into(),
            _ => "SUB_TEAM:SUB_TEAM".into(),
        }
    }

    /// Returns the token of an approval request.
    fn token(
        self,
        invocation_id: &'a str,
        member_route_key: &'a str,
    ) -> Option<ApprovalTokenOut<'a>> {
        let stamp = self.stamp?;
        Some(ApprovalTokenOut {
            team_run_id: stamp.team_run_id,
            run_version: stamp.run_version,
            invocation_id,
            invocation_version: 1,
            target_member_name: member_route_key,
        })
    }
}

/// Returns the message of an [`OutgoingEvent`] event in a team's stream; `None` for text that is not an envelope. Without a
/// stamp, as in snapshots, the message has no sequence number and no token.
pub fn flatten(event: &OutgoingEvent<'_>, stamp: Option<&Stamp<'_>>) -> Option<String> {
    let place = FlatContext {
        stamp,
        outermost: event.path.first().map(|node| node.name),
        depth: event.path.len(),
        source: event.source.source_type(),
    };
    match event.source {
        EventSource::Published(raw) => published::flatten(raw, event.path, stamp),
        EventSource::Team {
            new,
            old,
            error_message,
        } => {
            let own = TeamFields {
                new_status: new.wire_name(),
                old_status: old.map(TeamStatus::wire_name),
                error_message,
            };
            Some(place.message(TEAM_STATUS, TEAM_STATUS, own, None))
        }
        EventSource::TasksCreated { .. } | EventSource::TaskStatus { .. } => {
            let team_id = event.path.last().map_or(event.team_id, |node| node.team_id);
            let change = PlanChange::of(&event.source, team_id)?;
            let event_type = match change {
                PlanChange::Created { .. } => TASKS_CREATED,
                PlanChange::Status { .. } => TASK_STATUS_UPDATED,
            };
            let own = PlanFields { event_type, change };
            Some(place.message(TASK_PLAN_EVENT, event_type, own, None))
        }
        EventSource::Agent {
            name,
            agent_id,
            event: said,
        } => {
            let message_type = said.message()?;
            let member_route_key = route_key(event.path.iter().map(|node| node.name), name);
            let approval_token = match said {
                AgentEventData::ApprovalRequested { invocation_id, .. } => {
                    place.token(invocation_id, &member_route_key)
                }
                _ => None,
            };
            let member = MemberRef {
                approval_token,
                agent_name: name,
                agent_id: Some(agent_id).filter(|id| !id.is_empty()),
                member_route_key: &member_route_key,
            };
            let own = MemberFields::of(said);
            Some(place.message(message_type, message_type, own, Some(member)))
        }
    }
}

/// Returns the message of an [`OutgoingEvent`] event in a single agent's stream, without any field about teams. `None` for
/// events of teams and tasks.
pub fn flatten_single(event: &OutgoingEvent<'_>) -> Option<String> {
    match event.source {
        EventSource::Published(raw) => published::flatten_single(raw),
        EventSource::Agent {
            agent_id,
            event: said,
            ..
        } => Some(message(
            said.message()?,
            MemberFields::of(said.of_agent(agent_id)),
        )),
        EventSource::Team { .. }
        | EventSource::TasksCreated { .. }
        | EventSource::TaskStatus { .. } => None,
    }
}
