//! What the API shows of teams and of their boards.

use std::sync::Arc;

use jackfield_kit::api::invalid;
use jackfield_model::{AgentId, Failure, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    team::{Member, MemberOf, board::BoardTask, teams::TeamView},
    translate::deliverable,
    wire::{AgentStatus, Deliverable, TeamStatus},
};

/// A team.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Team {
    /// Its id, which is that of an agent: it is called like one.
    #[schema(value_type = String)]
    id: AgentId,
    /// A name for people.
    name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// Whose it is.
    #[schema(value_type = String)]
    owner: Owner,
    /// The name of the member that calls of the team go to.
    #[schema(value_type = String)]
    coordinator: Arc<str>,
    /// Its members.
    members: Vec<MemberView>,
    /// Whether its coordinator is there.
    online: bool,
    /// How it is doing.
    #[schema(value_type = String, pattern = "^(STARTING|IDLE|RUNNING|PAUSED|ERROR|SHUTTING_DOWN)$")]
    status: TeamStatus,
    /// Its run, while it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    run: Option<RunView>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was last changed.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// All agents of its tree, outer teams first.
    agents: Vec<AgentView>,
}

/// A member of a team: an agent, or another team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamMember)]
pub(crate) struct MemberView {
    /// Its name in this team, which no other member has.
    #[schema(value_type = String, min_length = 1, max_length = 128)]
    name: Arc<str>,
    /// The agent that it is; this or `team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    agent: Option<AgentId>,
    /// The team that it is; this or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    team: Option<AgentId>,
}

/// One activation of a team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamRun)]
pub(crate) struct RunView {
    /// Its id.
    #[schema(value_type = String)]
    id: Arc<str>,
    /// The number of its last event; 0 before the first.
    sequence: u64,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
}

/// An agent of a team's tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamAgent)]
pub(crate) struct AgentView {
    /// Its name in the whole tree: the names of the teams on the way to it and its own, joined by `/`.
    #[schema(value_type = String)]
    route_key: Arc<str>,
    /// Its name in its team.
    #[schema(value_type = String)]
    name: Arc<str>,
    /// The agent.
    #[schema(value_type = String)]
    agent: AgentId,
    /// Whether it is attached.
    online: bool,
    /// How it is doing.
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
        let agents = team.agents.iter().map(|agent| AgentView {
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

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        let (agent, team) = match member.of {
            MemberOf::Agent(agent) => (Some(agent), None),
            MemberOf::Team(team) => (None, Some(team)),
        };
        Self {
            name: member.name,
            agent,
            team,
        }
    }
}

/// A member that a team shall have: an agent, or another team.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTeamMember)]
pub(crate) struct NewMember {
    /// Its name in this team, which no other member has; its id if left out.
    #[schema(value_type = Option<String>, nullable = false, min_length = 1, max_length = 128)]
    name: Option<Arc<str>>,
    /// The agent that it is; this or `team`. The id of a team will do, which then is the member.
    #[schema(value_type = Option<String>, nullable = false)]
    agent: Option<AgentId>,
    /// The team that it is; this or `agent`.
    #[schema(value_type = Option<String>, nullable = false)]
    team: Option<AgentId>,
}

impl NewMember {
    /// The member that a caller described, as the one at this place of the list. `is_team` tells ids of teams.
    pub(crate) fn member(
        self,
        at: usize,
        is_team: impl Fn(&AgentId) -> bool,
    ) -> Result<Member, Failure> {
        let of = match (self.agent, self.team) {
            (Some(team), None) if is_team(&team) => MemberOf::Team(team),
            (Some(agent), None) => MemberOf::Agent(agent),
            (None, Some(team)) => MemberOf::Team(team),
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
            MemberOf::Agent(id) | MemberOf::Team(id) => id.as_str().into(),
        });
        Ok(Member { name, of })
    }
}

/// The teams that one may see.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamList {
    /// They, by id.
    pub(crate) teams: Vec<Team>,
}

/// A task of a team's board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamTask)]
pub(crate) struct TaskView {
    /// Its id on this board.
    id: String,
    /// The same, as the team protocol's programs call it.
    task_id: String,
    /// Its name.
    task_name: String,
    /// The member that does it, by name or route key.
    assignee_name: String,
    /// What is to do.
    description: String,
    /// The ids of the tasks that come before it.
    dependencies: Vec<String>,
    /// Where it stands.
    #[schema(pattern = "^(not_started|queued|in_progress|completed|blocked|failed)$")]
    status: &'static str,
    /// What it gave.
    file_deliverables: Vec<Deliverable>,
}

impl From<BoardTask> for TaskView {
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
pub(crate) struct TaskList {
    /// They, in the order in which they were added.
    pub(crate) tasks: Vec<TaskView>,
}

impl From<Vec<BoardTask>> for TaskList {
    fn from(tasks: Vec<BoardTask>) -> Self {
        Self {
            tasks: tasks.into_iter().map(Into::into).collect(),
        }
    }
}
