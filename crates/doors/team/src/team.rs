//! Teams: named trees of members with a coordinator. A team is an agent of the hub: whoever calls it calls its
//! coordinator. What its members do for it is shown on its stage, numbered once, for any number of viewers.

pub mod board;
pub mod event;
pub(crate) mod kept;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod seat;
pub mod stage;
pub(crate) mod story;
pub mod teams;
pub mod tree;

use std::sync::Arc;

use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::kept::KeptSeat;

/// What a member is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberOf {
    /// An agent of the hub, of any door.
    Agent(AgentId),
    /// Another team.
    Team(AgentId),
}

/// A member of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name in this team.
    pub name: Arc<str>,
    /// What it is.
    #[serde(flatten)]
    pub of: MemberOf,
}

/// A team as its owner described it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSpec {
    /// A name for people.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The name of the member that calls of the team go to: an agent.
    pub coordinator: Arc<str>,
    /// Its members.
    pub members: Vec<Member>,
}

/// A team as it is kept. The agent of the same id says whose it is and with whom it is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamRecord {
    /// Its id, which is an agent id.
    pub id: AgentId,
    /// Whose it is.
    pub owner: Owner,
    /// Whether it is an admin's or the operator's, who may call any agent: then it may too. It decides nothing for them.
    pub by_admin: bool,
    /// The team.
    pub spec: TeamSpec,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Its task board, in order.
    pub tasks: Vec<board::BoardTask>,
}
