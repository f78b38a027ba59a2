//! Teams: named trees of members with a coordinator.
//!
//! A team is an agent of the hub: a call of the team goes to its coordinator. Everything the members do for
//! the team appears in the team's event feed, numbered once for any number of viewers.

pub mod board;
pub mod event;
pub mod feed;
pub(crate) mod feed_observer;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod renderer;
pub(crate) mod run_context;
pub mod teams;
pub mod tree;

use std::sync::Arc;

use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::run_context::StoredMembership;

/// Kind of a [`MemberSpec`]: an agent or a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// Agent of the hub, from any door.
    Agent(AgentId),
    /// Nested team.
    Team(AgentId),
}

/// Member of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSpec {
    /// Name of the member in the team.
    pub name: Arc<str>,
    /// Agent or team behind the name.
    #[serde(flatten)]
    pub of: MemberKind,
}

/// Description of a team as its owner wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSpec {
    /// Display name of the team.
    pub name: String,
    /// Purpose of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the member that receives calls of the team. Must be an agent.
    pub coordinator: Arc<str>,
    /// Members of the team.
    pub members: Vec<MemberSpec>,
}

/// Stored team. The agent entry with the same id holds the owner and the shares.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamRecord {
    /// Id of the team, also its agent id.
    pub id: AgentId,
    /// Owner of the team.
    pub owner: Owner,
    /// Whether an admin or the operator created the team. Admins may call any agent, and so may their teams.
    /// The flag does not let the team decide approvals of its members.
    pub by_admin: bool,
    /// Description of the team.
    pub spec: TeamSpec,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Tasks of the task board, in board order.
    pub tasks: Vec<board::BoardTask>,
}
