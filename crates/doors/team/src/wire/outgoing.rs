//! One event of the stream: what was said, by whom, and where in the tree of teams.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Deliverable, MemberEvent, TaskView, TeamStatus};

/// What was said, by which kind of source.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// The team itself: its state changed.
    Team {
        /// What it is doing now.
        new: TeamStatus,
        /// What it did before.
        old: Option<TeamStatus>,
        /// Why it failed.
        error_message: Option<&'a str>,
    },
    /// A member of it.
    Agent {
        /// The member's name in its team.
        name: &'a str,
        /// The agent that it is.
        agent_id: &'a str,
        /// What it said.
        event: MemberEvent<'a>,
    },
    /// Its task board: tasks were added.
    TasksCreated {
        /// Those to show.
        tasks: &'a [TaskView<'a>],
    },
    /// Its task board: a task went on.
    TaskStatus {
        /// Which task.
        task_id: &'a str,
        /// How far it is now.
        new_status: &'a str,
        /// The member that says so.
        agent_name: &'a str,
        /// What came out of it.
        deliverables: Option<&'a [Deliverable]>,
    },
    /// A whole envelope of an outside runtime, which [`read_envelopes`](super::read_envelopes) has taken.
    Published(&'a RawValue),
}

impl Source<'_> {
    /// Of which kind the innermost envelope is; that of a published one is told by its text.
    pub(super) fn source_type(&self) -> SourceType {
        match self {
            Source::Team { .. } => SourceType::Team,
            Source::Agent { .. } => SourceType::Agent,
            Source::TasksCreated { .. } | Source::TaskStatus { .. } => SourceType::TaskPlan,
            Source::Published(_) => SourceType::SubTeam,
        }
    }
}

/// One level of nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node<'a> {
    /// The node's name in the team above.
    pub name: &'a str,
    /// The team that it is.
    pub team_id: &'a str,
}

/// One event of a team's stream.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The team whose stream this is.
    pub team_id: &'a str,
    /// The way to the team that the event is of, outermost first; empty for the stream's own team.
    pub path: &'a [Node<'a>],
    /// What the ids of its envelopes are made of; see [`write_envelope`](super::write_envelope).
    pub event_id: u128,
    /// When it happened: RFC 3339 with milliseconds and `Z`.
    pub at: &'a str,
    /// What was said.
    pub source: Source<'a>,
}

/// The place of an event in its run, which the hub assigns once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// The run.
    pub team_run_id: &'a str,
    /// The run's version.
    pub run_version: u32,
    /// The event's number in the run, from 1; 0 for what has none, of which [`flatten`](super::flatten) writes a token only.
    pub sequence: u64,
    /// The hub that it happened at.
    pub source_node_id: &'a str,
    /// `local` or `remote`.
    pub origin: &'static str,
    /// When the hub had it.
    pub received_at: &'a str,
}

/// The kinds of sources, as envelopes name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum SourceType {
    Team,
    Agent,
    SubTeam,
    TaskPlan,
}

/// The key by which viewers find a member: node names from the outermost on, then its own, with `/` between them.
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
