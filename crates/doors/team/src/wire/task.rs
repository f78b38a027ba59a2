//! The tasks of a team's board, as events and the HTTP API show them.

use serde::{Deserialize, Serialize};

use super::Source;

/// A file that came out of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Deliverable {
    /// Where it is.
    pub file_path: String,
    /// What it is.
    pub summary: String,
    /// The member that made it.
    pub author_agent_name: String,
    /// When it was handed in.
    pub timestamp: String,
}

/// One task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskView<'a> {
    /// Its id on this board, by the seed's name.
    pub id: &'a str,
    /// What its team calls it.
    pub task_name: &'a str,
    /// Its id on this board, by the web client's name.
    pub task_id: &'a str,
    /// The member that is to do it.
    pub assignee_name: &'a str,
    /// What is to be done.
    pub description: &'a str,
    /// The ids of the tasks that come before it.
    pub dependencies: &'a [String],
    /// What came out of it so far.
    pub file_deliverables: &'a [Deliverable],
    /// How far it is.
    pub status: &'a str,
}

/// A change of the board, in the envelope and in the flattened message alike.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PlanData<'a> {
    Created {
        team_id: &'a str,
        tasks: &'a [TaskView<'a>],
    },
    Status {
        team_id: &'a str,
        task_id: &'a str,
        new_status: &'a str,
        agent_name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        deliverables: Option<&'a [Deliverable]>,
    },
}

impl<'a> PlanData<'a> {
    /// The change of the board of `team_id` that an event is about; `None` for other events.
    pub(super) fn of(source: &Source<'a>, team_id: &'a str) -> Option<Self> {
        match *source {
            Source::TasksCreated { tasks } => Some(Self::Created { team_id, tasks }),
            Source::TaskStatus {
                task_id,
                new_status,
                agent_name,
                deliverables,
            } => Some(Self::Status {
                team_id,
                task_id,
                new_status,
                agent_name,
                deliverables,
            }),
            Source::Team { .. } | Source::Agent { .. } | Source::Published(_) => None,
        }
    }
}
