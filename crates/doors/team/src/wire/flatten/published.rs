//! Flattening what an outside runtime published: its own fields are kept, those that tell of the place are ours.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::event_type::{EventType, MessageType};
use super::super::leaf::Leaf;
use super::super::outgoing::{PlanChange, SourceType, route_key};
use super::super::segment::Step;
use super::super::{Node, Stamp, TeamStatus, frame};
use super::{
    MEMBER_SCOPED, TASK_PLAN_EVENT, TEAM_SCOPED, TEAM_STATUS, Tail, put_token, stamp_type,
};
use jackfield_wire::json::{self, Members, ObjectWriter};

/// The fields that only the hub writes; a runtime's own of these names would pass for ours.
const OURS: [&str; 5] = [
    "approval_token",
    "event_scope",
    "member_route_key",
    "sub_team_node_name",
    "team_stream_event_envelope",
];

/// Appends the message of a team's stream that `raw` becomes, which stands at the end of `path`.
pub(super) fn flatten(
    raw: &RawValue,
    path: &[Node<'_>],
    stamp: Option<&Stamp<'_>>,
    out: &mut String,
) -> bool {
    let Some(leaf) = Leaf::of(raw) else {
        return false;
    };
    let nodes = || {
        let inner = leaf.nodes.iter().map(AsRef::as_ref);
        path.iter().map(|node| node.name).chain(inner)
    };
    let depth = path.len() + leaf.nodes.len();
    let tail = |own_name, scope| Tail {
        stamp,
        outermost: nodes().next(),
        event_type: stamp_type(depth, leaf.source, own_name),
        scope,
    };
    match leaf.source {
        SourceType::Team => frame::message(TEAM_STATUS, out, |payload| {
            put_fields(payload, &leaf.data, &[], Some(TeamStatus::flat_name));
            tail(TEAM_STATUS, TEAM_SCOPED).put(payload);
        }),
        SourceType::TaskPlan => {
            let change = match leaf.data.get("tasks") {
                Some(_) => PlanChange::Created,
                None => PlanChange::Status,
            };
            frame::message(TASK_PLAN_EVENT, out, |payload| {
                payload.text("event_type", change.name());
                put_fields(payload, &leaf.data, &["event_type"], None);
                tail(change.full_name(), TEAM_SCOPED).put(payload);
            });
        }
        SourceType::Agent => {
            let Some(said) = Said::of(&leaf.data) else {
                return false;
            };
            let member_route_key = route_key(nodes(), &said.agent_name);
            frame::message(said.message.name, out, |payload| {
                said.put(payload);
                if let (Some(invocation_id), Some(stamp)) = (said.asked(), stamp) {
                    put_token(payload, stamp, &invocation_id, &member_route_key);
                }
                payload
                    .text("agent_name", &*said.agent_name)
                    .maybe_text("agent_id", said.agent_id.as_deref())
                    .text("member_route_key", &*member_route_key);
                tail(said.message.full_name, MEMBER_SCOPED).put(payload);
            });
        }
        // A leaf is never a wrapper.
        SourceType::SubTeam => return false,
    }
    true
}

/// Appends the message of a single agent's stream that `raw` becomes.
pub(super) fn flatten_single(raw: &RawValue, out: &mut String) -> bool {
    let leaf = Leaf::of(raw).filter(|leaf| leaf.source == SourceType::Agent);
    let Some(said) = leaf.as_ref().and_then(|leaf| Said::of(&leaf.data)) else {
        return false;
    };
    frame::message(said.message.name, out, |payload| {
        said.put(payload);
        // Artifacts name their agent; it is the one that said it.
        if said.data.get("agent_id").is_some() {
            payload.maybe_text("agent_id", said.agent_id.as_deref());
        }
    });
    true
}

/// What a member said.
struct Said<'a> {
    agent_name: Cow<'a, str>,
    /// The agent's id, if it is not empty.
    agent_id: Option<Cow<'a, str>>,
    event_type: EventType,
    message: MessageType,
    data: Members<'a>,
}

impl<'a> Said<'a> {
    /// Reads it from the data of an envelope; `None` if viewers are not sent such events.
    fn of(data: &Members<'a>) -> Option<Self> {
        let event = Members::of(data.get("agent_event")?)?;
        let event_type = EventType::from_name(&event.text("event_type")?)?;
        let agent_name = data.text("agent_name")?;
        let data = Members::of(event.get("data")?)?;
        let message = match event_type {
            EventType::Segment => {
                let step = data.text("type").or_else(|| data.text("event_type"));
                MessageType::of_step(Step::from_name(&step?)?)
            }
            other => other.message()?,
        };
        Some(Said {
            agent_name,
            agent_id: event.text("agent_id").filter(|id| !id.is_empty()),
            event_type,
            message,
            data,
        })
    }

    /// The tool call that waits for somebody to decide, if it is about one.
    fn asked(&self) -> Option<Cow<'a, str>> {
        match self.event_type {
            EventType::ApprovalRequested => self.data.text("invocation_id"),
            _ => None,
        }
    }

    /// Writes its own fields, without those that name the member.
    fn put(&self, payload: &mut ObjectWriter<'_>) {
        let member = match self.agent_id {
            Some(_) => ["agent_name", "agent_id"].as_slice(),
            None => &["agent_name"],
        };
        match self.event_type {
            EventType::Segment => self.put_segment(payload, member),
            EventType::Status => {
                put_fields(payload, &self.data, member, Some(str::to_ascii_lowercase));
            }
            _ => put_fields(payload, &self.data, member, None),
        }
    }

    /// Writes a segment: what its payload holds stands beside its id, and can neither replace it nor the kind.
    fn put_segment(&self, payload: &mut ObjectWriter<'_>, member: &[&str]) {
        let content = self.data.get("payload").and_then(Members::of);
        let content = content.unwrap_or_default();
        let given = |id: &Cow<'_, str>| !id.is_empty();
        let id = self.data.text("segment_id").filter(given);
        let id = id.or_else(|| content.text("id").filter(given));
        match id {
            Some(id) => payload.text("id", &*id),
            None => payload.text("id", &*format!("{}:segment", self.agent_name)),
        };
        let mut skipped = member.to_vec();
        skipped.push("id");
        if let Some(kind) = self.data.get("segment_type") {
            payload.raw("segment_type", kind);
            skipped.push("segment_type");
        }
        put_fields(payload, &content, &skipped, None);
    }
}

/// Writes the fields of a runtime that are neither ours nor skipped, states as `name_of_state` has them. `null` is absent.
fn put_fields(
    payload: &mut ObjectWriter<'_>,
    fields: &Members<'_>,
    skipped: &[&str],
    name_of_state: Option<fn(&str) -> String>,
) {
    for field in fields.iter() {
        let name = &*field.name;
        if json::is_null(field.value) || OURS.contains(&name) || skipped.contains(&name) {
            continue;
        }
        let state = match name {
            "new_status" | "old_status" => json::str_of(field.value),
            _ => None,
        };
        match (state, name_of_state) {
            (Some(state), Some(name_of_state)) => payload.text(name, &*name_of_state(&state)),
            _ => payload.members(std::slice::from_ref(field)),
        };
    }
}
