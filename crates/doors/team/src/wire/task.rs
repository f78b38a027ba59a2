//! Tasks of a team's board, as written in events and in the HTTP API.

use serde::{Deserialize, Serialize};

use super::EventSource;

/// File produced by a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Deliverable {
    /// Path of the file.
    pub file_path: String,
    /// Description of the file.
    pub summary: String,
    /// Member that produced the file.
    pub author_agent_name: String,
    /// Time of the report.
    pub timestamp: String,
}

/// Task of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PlanTask<'a> {
    /// Id on the board, under the seed's name.
    pub id: &'a str,
    /// Name of the task.
    pub task_name: &'a str,
    /// Id on the board, under the web client's name.
    pub task_id: &'a str,
    /// Assigned member.
    pub assignee_name: &'a str,
    /// Description of the work.
    pub description: &'a str,
    /// Ids of the tasks to complete before.
    pub dependencies: &'a [String],
    /// Produced files.
    pub file_deliverables: &'a [Deliverable],
    /// Status of the task.
    pub status: &'a str,
}

/// Change of the board, identical in the envelope and in the flattened message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(super) enum PlanChange<'a> {
    Created {
        team_id: &'a str,
        tasks: &'a [PlanTask<'a>],
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

impl<'a> PlanChange<'a> {
    /// Returns the board change of an event of `team_id`; `None` for other events.
    pub(super) fn of(source: &EventSource<'a>, team_id: &'a str) -> Option<Self> {
        match *source {
            EventSource::TasksCreated { tasks } => Some(Self::Created { team_id, tasks }),
            EventSource::TaskStatus {
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
            EventSource::Team { .. } | EventSource::Agent { .. } | EventSource::Published(_) => {
                None
            }
        }
    }
}
