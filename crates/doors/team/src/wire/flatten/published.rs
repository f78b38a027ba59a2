//! Flattened form of published envelopes: keeps the runtime's own fields, and writes the position fields
//! itself.

use std::borrow::Cow;

use jackfield_wire::{
    json::{self, RawMembers},
    read::read_part,
};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::super::event_type::{AgentEventType, SegmentStep};
use super::super::frame::message;
use super::super::innermost::InnermostEvent;
use super::super::outgoing::{SourceType, route_key};
use super::super::publish::{AgentData, AgentEventIn};
use super::super::{Stamp, SubTeamNode, TeamStatus};
use super::{
    FlatContext, MemberRef, PlanFields, TASK_PLAN_EVENT, TASK_STATUS_UPDATED, TASKS_CREATED,
    TEAM_STATUS,
};

/// Fields written only by the hub. A runtime's fields of the same names would be mistaken for the hub's.
const OURS: [&str; 5] = [
    "approval_token",
    "event_scope",
    "member_route_key",
    "sub_team_node_name",
    "team_stream_event_envelope",
];

/// Returns the message of a published envelope in a team's stream. `path` leads to the team of the envelope.
pub(super) fn flatten(
    raw: &RawValue,
    path: &[SubTeamNode<'_>],
    stamp: Option<&Stamp<'_>>,
) -> Option<String> {
    let leaf = InnermostEvent::of(raw)?;
    let nodes = || {
        let inner = leaf.nodes.iter().map(AsRef::as_ref);
        path.iter().map(|node| node.name).chain(inner)
    };
    let place = FlatContext {
        stamp,
        outermost: nodes().next(),
        depth: path.len() + leaf.nodes.len(),
        source: leaf.source,
    };
    let data = RawMembers::of(leaf.data)?;
    match leaf.source {
        SourceType::Team => {
            let own = PassedFields::of(&data, &[], Some(TeamStatus::flat_name));
            Some(place.message(TEAM_STATUS, TEAM_STATUS, own, None))
        }
        SourceType::TaskPlan => {
            let event_type = match data.get("tasks") {
                Some(_) => TASKS_CREATED,
                None => TASK_STATUS_UPDATED,
            };
            let change = PassedFields::of(&data, &["event_type"], None);
            let own = PlanFields { event_type, change };
            Some(place.message(TASK_PLAN_EVENT, event_type, own, None))
        }
        SourceType::Agent => {
            let said = PublishedAgentEvent::of(leaf.data)?;
            let member_route_key = route_key(nodes(), &said.agent_name);
            let asked = said.asked();
            let member = MemberRef {
                approval_token: asked
                    .as_deref()
                    .and_then(|id| place.token(id, &member_route_key)),
                agent_name: &said.agent_name,
                agent_id: said.agent_id.as_deref(),
                member_route_key: &member_route_key,
            };
            Some(place.message(said.message, said.message, said.fields(), Some(member)))
        }
        // A leaf is never a wrapper.
        SourceType::SubTeam => None,
    }
}

/// Returns the message of a published envelope in a single agent's stream.
pub(super) fn flatten_single(raw: &RawValue) -> Option<String> {
    let leaf = InnermostEvent::of(raw).filter(|leaf| leaf.source == SourceType::Agent)?;
    let said = PublishedAgentEvent::of(leaf.data)?;
    let mut fields = said.fields();
    // Artifacts name their agent: the agent of the event.
    if let (Some(_), Some(agent_id)) = (said.data.get("agent_id"), &said.agent_id) {
        fields.set("agent_id", agent_id.clone());
    }
    Some(message(said.message, fields))
}

/// Event of a member in a published envelope.
struct PublishedAgentEvent<'a> {
    agent_name: String,
    agent_id: Option<String>,
    event_type: AgentEventType,
    /// Message type in the flattened stream.
    message: &'static str,
    data: RawMembers<'a>,
}

impl<'a> PublishedAgentEvent<'a> {
    /// Reads the event from the data of an envelope; `None` if viewers do not receive events of the type.
    fn of(data: &'a RawValue) -> Option<Self> {
        let agent: AgentData<'_> = read_part(data).ok()?;
        let event: AgentEventIn<'_> = read_part(agent.agent_event?).ok()?;
        let data = RawMembers::of(event.data)?;
        let message = match event.event_type {
            AgentEventType::Segment => {
                let step = data.get("type").or_else(|| data.get("event_type"));
                read_part::<SegmentStep>(step?).ok()?.message()
            }
            other => other.message()?,
        };
        Some(PublishedAgentEvent {
            agent_name: agent.agent_name.0,
            agent_id: event.agent_id,
            event_type: event.event_type,
            message,
            data,
        })
    }

    /// Returns the id of the tool call, if the event requests approval.
    fn asked(&self) -> Option<Cow<'a, str>> {
        match self.event_type {
            AgentEventType::ApprovalRequested => self.data.text("invocation_id"),
            _ => None,
        }
    }

    /// Returns the event's own fields, without the member's name and agent.
    fn fields(&self) -> PassedFields<'_> {
        let member = match self.agent_id {
            Some(_) => ["agent_name", "agent_id"].as_slice(),
            None => &["agent_name"],
        };
        match self.event_type {
            AgentEventType::Segment => self.segment(member),
            AgentEventType::Status => {
                PassedFields::of(&self.data, member, Some(str::to_ascii_lowercase))
            }
            _ => PassedFields::of(&self.data, member, None),
        }
    }

    /// Returns the fields of a segment. Fields of the payload stand beside the id, and cannot replace the id
    /// or the kind.
    fn segment(&self, member: &[&str]) -> PassedFields<'_> {
        let content = self.data.get("payload").and_then(RawMembers::of);
        let content = content.unwrap_or_default();
        let given = |id: &Cow<'_, str>| !id.is_empty();
        let id = self.data.text("segment_id").filter(given);
        let id = id.or_else(|| content.text("id").filter(given));
        let id = id.map_or_else(|| format!("{}:segment", self.agent_name), Cow::into_owned);
        let mut kept = PassedFields::default();
        kept.set("id", id);
        let mut skipped = member.to_vec();
        skipped.push("id");
        if let Some(kind) = self.data.get("segment_type") {
            kept.0.push(("segment_type".into(), FieldValue::Raw(kind)));
            skipped.push("segment_type");
        }
        kept.0.extend(PassedFields::of(&content, &skipped, None).0);
        kept
    }
}

/// Fields of a runtime to pass on, in order.
#[derive(Default)]
struct PassedFields<'a>(Vec<(Cow<'a, str>, FieldValue<'a>)>);

#[derive(Serialize)]
#[serde(untagged)]
enum FieldValue<'a> {
    /// Original JSON of the runtime.
    Raw(&'a RawValue),
    Text(String),
}

impl<'a> PassedFields<'a> {
    /// Collects the fields that are neither in `OURS` nor skipped. Converts statuses with `name_of_state`,
    /// and drops `null`.
    fn of(
        fields: &RawMembers<'a>,
        skipped: &[&str],
        name_of_state: Option<fn(&str) -> String>,
    ) -> Self {
        let mut kept = PassedFields::default();
        for field in fields.iter() {
            let name = &*field.name;
            if json::is_null(field.value) || OURS.contains(&name) || skipped.contains(&name) {
                continue;
            }
            let state = match name {
                "new_status" | "old_status" => json::str_of(field.value),
                _ => None,
            };
            let value = match (state, name_of_state) {
                (Some(state), Some(name_of_state)) => FieldValue::Text(name_of_state(&state)),
                _ => FieldValue::Raw(field.value),
            };
            kept.0.push((field.name.clone(), value));
        }
        kept
    }

    /// Adds a text field.
    fn set(&mut self, name: &'static str, text: String) {
        self.0.push((name.into(), FieldValue::Text(text)));
    }
}

impl Serialize for PassedFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
