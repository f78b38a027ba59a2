//! Event of the stream, with its source and its position in the tree of teams.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AgentEventData, Deliverable, PlanTask, TeamStatus};

/// Source of an event, with its content.
#[derive(Debug, Clone, Copy)]
pub enum EventSource<'a> {
    /// The team itself: its status changed.
    Team {
        /// New status.
        new: TeamStatus,
        /// Previous status.
        old: Option<TeamStatus>,
        /// Error message.
        error_message: Option<&'a str>,
    },
    /// Member of the team.
    Agent {
        /// Name of the member in its team.
        name: &'a str,
        /// Agent of the member.
        agent_id: &'a str,
        /// Event of the member.
        event: AgentEventData<'a>,
    },
    /// Task board: tasks were added.
    TasksCreated {
        /// Tasks to show.
        tasks: &'a [PlanTask<'a>],
    },
    /// Task board: a task changed its status.
    TaskStatus {
        /// Id of the task.
        task_id: &'a str,
        /// New status.
        new_status: &'a str,
        /// Member that reports the change.
        agent_name: &'a str,
        /// Added deliverables.
        deliverables: Option<&'a [Deliverable]>,
    },
    /// Complete envelope of an outside runtime, accepted by [`read_envelopes`](super::read_envelopes).
    Published(&'a RawValue),
}

impl EventSource<'_> {
    /// Returns the source type of the innermost envelope. A published envelope determines its own type in its
    /// text.
    pub(super) fn source_type(&self) -> SourceType {
        match self {
            EventSource::Team { .. } => SourceType::Team,
            EventSource::Agent { .. } => SourceType::Agent,
            EventSource::TasksCreated { .. } | EventSource::TaskStatus { .. } => {
                SourceType::TaskPlan
            }
            EventSource::Published(_) => SourceType::SubTeam,
        }
    }
}

/// Level of nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubTeamNode<'a> {
    /// Name of the node in its parent team.
    pub name: &'a str,
    /// Team of the node.
    pub team_id: &'a str,
}

/// Event of a team's stream.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingEvent<'a> {
    /// Team of the stream.
    pub team_id: &'a str,
    /// Nodes on the path to the team of the event, outermost first. Empty for the team of the stream.
    pub path: &'a [SubTeamNode<'a>],
    /// Source of the envelopes' ids; see [`write_envelope`](super::write_envelope).
    pub event_id: u128,
    /// Time of the event: RFC 3339 with milliseconds and `Z`.
    pub at: &'a str,
    /// Source of the event, with its content.
    pub source: EventSource<'a>,
}

/// Position of an event in its run, assigned once by the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Id of the run.
    pub team_run_id: &'a str,
    /// Version of the run.
    pub run_version: u32,
    /// Number of the event in the run, from 1. For 0, [`flatten`](super::flatten) writes a token but no
    /// number.
    pub sequence: u64,
    /// Node id of the hub.
    pub source_node_id: &'a str,
    /// `local` or `remote`.
    pub origin: &'static str,
    /// Time of arrival at the hub.
    pub received_at: &'a str,
}

/// Source type of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum SourceType {
    Team,
    Agent,
    SubTeam,
    TaskPlan,
}

/// Returns the route key of a member: node names from the outermost on, then the member's name, joined by
/// `/`.
pub(super) fn route_key<'a, 'n>(
    nodes: impl Iterator<Item = &'n str>,
    name: &'a str,
) -> Cow<'a, str> {
    let mut key = String::new();
    for node in nodes {
        key.push_str(node);
        key.push('/');
    }
    if key.is_empty() {
        return Cow::Borrowed(name);
    }
    key.push_str(name);
    Cow::Owned(key)
}
