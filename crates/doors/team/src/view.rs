//! Types of the HTTP API for teams and task boards.

use std::sync::Arc;

use jackfield_kit::api::invalid;
use jackfield_model::{AgentId, Failure, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    team::{MemberKind, MemberSpec, board::BoardTask, teams::TeamView},
    translate::deliverable,
    wire::{AgentStatus, Deliverable, TeamStatus},
};

/// Team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Team {
    /// Id of the team. Also an agent id: call the team like an agent.
    #[schema(value_type = String)]
    id: AgentId,
    /// Display name.
    name: String,
    /// Purpose of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// Owner of the team.
    #[schema(value_type = String)]
    owner: Owner,
    /// Name of the member that receives calls of the team.
    #[schema(value_type = String)]
    coordinator: Arc<str>,
    /// Members of the team.
    members: Vec<MemberView>,
    /// Whether the coordinator is connected.
    online: bool,
    /// Status of the team.
    #[schema(value_type = String, pattern = "^(STARTING|IDLE|RUNNING|PAUSED|ERROR|SHUTTING_DOWN)$")]
    status: TeamStatus,
    /// Current run, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    run: Option<RunView>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// All agents of the team's tree, outer teams first.
    agents: Vec<TeamAgentView>,
}

/// Member of a team: an agent or a team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamMember)]
pub(crate) struct MemberView {
    /// Name of the member, unique in the team.
    #[schema(value_type = String, min_length = 1, max_length = 128)]
    name: Arc<str>,
    /// Agent id, if the member is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    agent: Option<AgentId>,
    /// Team id, if the member is a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    team: Option<AgentId>,
}

/// Activation of a team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamRun)]
pub(crate) struct RunView {
    /// Id of the run.
    #[schema(value_type = String)]
    id: Arc<str>,
    /// Number of the last event; 0 before the first.
    sequence: u64,
    /// Start time.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
}

/// Agent of a team's tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamAgent)]
pub(crate) struct TeamAgentView {
    /// Unique name in the tree: the names of the teams on the path and the agent's own name, joined by `/`.
    #[schema(value_type = String)]
    route_key: Arc<str>,
    /// Name of the agent in its team.
    #[schema(value_type = String)]
    name: Arc<str>,
    /// Agent id.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Whether the agent is connected.
    online: bool,
    /// Status of the agent.
    #[schema(value_type = String)]
    status: AgentStatus,
}

impl From<&TeamView> for Team {
    fn from(team: &TeamView) -> Self {
        let run = team.run.as_ref().map(|(run, sequence)| RunView {
            id: run.id.clone(),
            sequence: *sequence,
            started_at: run.started_at,
        });
        let agents = team.agents.iter().map(|agent| TeamAgentView {
            route_key: agent.route_key.clone(),
            name: agent.place.name.clone(),
            agent: agent.place.agent.clone(),
            online: agent.online,
            status: agent.status,
        });
        let record = team.record.clone();
        Self {
            id: record.id,
            name: record.spec.name,
            description: record.spec.description,
            owner: record.owner,
            coordinator: record.spec.coordinator,
            members: record.spec.members.into_iter().map(Into::into).collect(),
            online: team.online,
            status: team.status,
            run,
            created_at: record.created_at,
            updated_at: record.updated_at,
            agents: agents.collect(),
        }
    }
}

impl From<MemberSpec> for MemberView {
    fn from(member: MemberSpec) -> Self {
        let (agent, team) = match member.of {
            MemberKind::Agent(agent) => (Some(agent), None),
            MemberKind::Team(team) => (None, Some(team)),
        };
        Self {
            name: member.name,
            agent,
            team,
        }
    }
}

/// Member to include in a team: an agent or a team.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTeamMember)]
pub(crate) struct NewMember {
    /// Name of the member, unique in the team. Defaults to the id.
    #[schema(value_type = Option<String>, nullable = false, min_length = 1, max_length = 128)]
    name: Option<Arc<str>>,
    /// Agent id. Give either `agent` or `team`. The id of a team is accepted too and adds the team.
    #[schema(value_type = Option<String>, nullable = false)]
    agent: Option<AgentId>,
    /// Team id. Give either `agent` or `team`.
    #[schema(value_type = Option<String>, nullable = false)]
    team: Option<AgentId>,
}

impl NewMember {
    /// Converts the member at index `at` of a request's list. `is_team` tests whether an id belongs to a
    /// team.
    pub(crate) fn member(
        self,
        at: usize,
        is_team: impl Fn(&AgentId) -> bool,
    ) -> Result<MemberSpec, Failure> {
        let of = match (self.agent, self.team) {
            (Some(team), None) if is_team(&team) => MemberKind::Team(team),
            (Some(agent), None) => MemberKind::Agent(agent),
            (None, Some(team)) => MemberKind::Team(team),
            (None, None) => {
                let text = "needs \"agent\" or \"team\": what is it?";
                return Err(invalid(format!("field \"members[{at}]\" {text}")));
            }
            (Some(_), Some(_)) => {
                let text = "has both \"agent\" and \"team\"; a member is one of them";
                return Err(invalid(format!("field \"members[{at}]\" {text}")));
            }
        };
        let name = self.name.unwrap_or_else(|| match &of {
            MemberKind::Agent(id) | MemberKind::Team(id) => id.as_str().into(),
        });
        Ok(MemberSpec { name, of })
    }
}

/// Teams visible to the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamList {
    /// Teams, sorted by id.
    pub(crate) teams: Vec<Team>,
}

/// Task of a team's board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamTask)]
pub(crate) struct BoardTaskView {
    /// Id of the task on the board.
    id: String,
    /// Same as `id`, for programs of the team protocol.
    task_id: String,
    /// Name of the task.
    task_name: String,
    /// Assigned member, by name or route key.
    assignee_name: String,
    /// Description of the work.
    description: String,
    /// Ids of the tasks to complete before.
    dependencies: Vec<String>,
    /// Status of the task.
    #[schema(pattern = "^(not_started|queued|in_progress|completed|blocked|failed)$")]
    status: &'static str,
    /// Produced files.
    file_deliverables: Vec<Deliverable>,
}

impl From<BoardTask> for BoardTaskView {
    fn from(task: BoardTask) -> Self {
        Self {
            id: task.id.clone(),
            task_id: task.id,
            task_name: task.name,
            assignee_name: task.assignee,
            description: task.description,
            dependencies: task.dependencies,
            status: task.status.name(),
            file_deliverables: task.deliverables.iter().map(deliverable).collect(),
        }
    }
}

/// Tasks of a team's board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamTaskList)]
pub(crate) struct BoardTaskList {
    /// Tasks in the order of addition.
    pub(crate) tasks: Vec<BoardTaskView>,
}

impl From<Vec<BoardTask>> for BoardTaskList {
    fn from(tasks: Vec<BoardTask>) -> Self {
        Self {
            tasks: tasks.into_iter().map(Into::into).collect(),
        }
    }
}
