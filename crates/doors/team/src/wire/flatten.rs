//! The flattened form: the message of the WebSocket that an event becomes, with its place among the payload's fields.

use super::event_type::MessageType;
use super::outgoing::{PlanChange, SourceType, route_key};
use super::{MemberEvent, Outgoing, Source, Stamp, TeamStatus, frame, task};
use jackfield_wire::json::ObjectWriter;

mod published;

const MEMBER_SCOPED: &str = "member_scoped";
const TEAM_SCOPED: &str = "team_scoped";

/// Appends the message of a team's stream that an event becomes. Without a stamp, as in snapshots, it carries neither the
/// place in the run nor a token.
///
/// Returns whether there is one: what is no envelope becomes none.
pub fn flatten(event: &Outgoing<'_>, stamp: Option<&Stamp<'_>>, out: &mut String) -> bool {
    let innermost = event.path.last().map_or(event.team_id, |node| node.team_id);
    let tail = |source, own_name, scope| Tail {
        stamp,
        outermost: event.path.first().map(|node| node.name),
        event_type: stamp_type(event.path.len(), source, own_name),
        scope,
    };
    match event.source {
        Source::Published(raw) => return published::flatten(raw, event.path, stamp, out),
        Source::Team {
            new,
            old,
            error_message,
        } => frame::message(TEAM_STATUS, out, |payload| {
            payload
                .text("new_status", new.wire_name())
                .maybe_text("old_status", old.map(TeamStatus::wire_name))
                .maybe_text("error_message", error_message);
            tail(SourceType::Team, TEAM_STATUS, TEAM_SCOPED).put(payload);
        }),
        Source::TasksCreated { .. } | Source::TaskStatus { .. } => {
            let change = match event.source {
                Source::TasksCreated { .. } => PlanChange::Created,
                _ => PlanChange::Status,
            };
            frame::message(TASK_PLAN_EVENT, out, |payload| {
                payload.text("event_type", change.name());
                task::put_plan(payload, &event.source, innermost);
                tail(SourceType::TaskPlan, change.full_name(), TEAM_SCOPED).put(payload);
            });
        }
        Source::Agent {
            name,
            agent_id,
            event: said,
        } => {
            let Some(MessageType {
                name: message,
                full_name,
            }) = said.message()
            else {
                return false;
            };
            let member_route_key = route_key(event.path.iter().map(|node| node.name), name);
            frame::message(message, out, |payload| {
                put_said(payload, &said, None);
                if let (MemberEvent::ApprovalRequested { invocation_id, .. }, Some(stamp)) =
                    (said, stamp)
                {
                    put_token(payload, stamp, invocation_id, &member_route_key);
                }
                payload.text("agent_name", name);
                if !agent_id.is_empty() {
                    payload.text("agent_id", agent_id);
                }
                payload.text("member_route_key", &*member_route_key);
                tail(SourceType::Agent, full_name, MEMBER_SCOPED).put(payload);
            });
        }
    }
    true
}

/// Appends the message of a single agent's stream that an event becomes: nothing in it tells of a team. Returns whether
/// there is one; events of teams and tasks have none.
pub fn flatten_single(event: &Outgoing<'_>, out: &mut String) -> bool {
    match event.source {
        Source::Published(raw) => published::flatten_single(raw, out),
        Source::Agent {
            agent_id,
            event: said,
            ..
        } => {
            let Some(message) = said.message() else {
                return false;
            };
            frame::message(message.name, out, |payload| {
                put_said(payload, &said, Some(agent_id));
            });
            true
        }
        Source::Team { .. } | Source::TasksCreated { .. } | Source::TaskStatus { .. } => false,
    }
}

const TEAM_STATUS: &str = "TEAM_STATUS";
const TASK_PLAN_EVENT: &str = "TASK_PLAN_EVENT";

/// Writes what a member said.
fn put_said(payload: &mut ObjectWriter<'_>, said: &MemberEvent<'_>, agent_id: Option<&str>) {
    match said {
        MemberEvent::Segment(segment) => segment.put_flat(payload),
        other => other.put_data(payload, agent_id),
    }
}

/// Writes what a viewer hands back when it decides on a tool call. An invocation has only one version here.
fn put_token(
    payload: &mut ObjectWriter<'_>,
    stamp: &Stamp<'_>,
    invocation_id: &str,
    member_route_key: &str,
) {
    payload.object("approval_token", |token| {
        token
            .text("teamRunId", stamp.team_run_id)
            .number("runVersion", u64::from(stamp.run_version))
            .text("invocationId", invocation_id)
            .number("invocationVersion", 1)
            .text("targetMemberName", member_route_key);
    });
}

/// What the stamp calls an event with so many wrappers around it.
fn stamp_type(depth: usize, source: SourceType, own_name: &'static str) -> &'static str {
    match depth {
        0 => own_name,
        1 => source.name_in_wrapper(),
        _ => SourceType::SubTeam.name_in_wrapper(),
    }
}

/// The fields at the end of every payload: whom it concerns and its place in the run.
struct Tail<'a> {
    stamp: Option<&'a Stamp<'a>>,
    /// The outermost node of those around it.
    outermost: Option<&'a str>,
    event_type: &'static str,
    scope: &'static str,
}

impl Tail<'_> {
    fn put(&self, payload: &mut ObjectWriter<'_>) {
        payload
            .text("event_scope", self.scope)
            .maybe_text("sub_team_node_name", self.outermost);
        let Some(stamp) = self.stamp.filter(|stamp| stamp.sequence > 0) else {
            return;
        };
        payload.object("team_stream_event_envelope", |envelope| {
            envelope
                .text("team_run_id", stamp.team_run_id)
                .number("run_version", u64::from(stamp.run_version))
                .number("sequence", stamp.sequence)
                .text("source_node_id", stamp.source_node_id)
                .text("origin", stamp.origin)
                .text("event_type", self.event_type)
                .text("received_at", stamp.received_at);
        });
    }
}
