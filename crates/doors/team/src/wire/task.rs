//! The tasks of a team's board, as events and the HTTP API show them.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize as DeriveSerialize};

use super::Source;
use jackfield_wire::json::ObjectWriter;

/// A file that came out of a task.
#[derive(Debug, Clone, PartialEq, Eq, DeriveSerialize, Deserialize, utoipa::ToSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskView<'a> {
    /// What its team calls it.
    pub task_name: &'a str,
    /// Its id on this board; written as `id` (the seed's name) and as `task_id` (the web client's).
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

impl Serialize for TaskView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut task = serializer.serialize_struct("Task", 8)?;
        task.serialize_field("id", self.task_id)?;
        task.serialize_field("task_name", self.task_name)?;
        task.serialize_field("task_id", self.task_id)?;
        task.serialize_field("assignee_name", self.assignee_name)?;
        task.serialize_field("description", self.description)?;
        task.serialize_field("dependencies", self.dependencies)?;
        task.serialize_field("file_deliverables", self.file_deliverables)?;
        task.serialize_field("status", self.status)?;
        task.end()
    }
}

/// Writes what a change of the board says, in the envelope and in the flattened message alike.
pub(super) fn put_plan(object: &mut ObjectWriter<'_>, source: &Source<'_>, team_id: &str) {
    match *source {
        Source::TasksCreated { tasks } => {
            object.text("team_id", team_id).list("tasks", tasks, push);
        }
        Source::TaskStatus {
            task_id,
            new_status,
            agent_name,
            deliverables,
        } => {
            object
                .text("team_id", team_id)
                .text("task_id", task_id)
                .text("new_status", new_status)
                .text("agent_name", agent_name);
            if let Some(deliverables) = deliverables {
                object.list("deliverables", deliverables, push);
            }
        }
        Source::Team { .. } | Source::Agent { .. } | Source::Published(_) => {}
    }
}

/// Appends a value of this file as JSON. Tasks change seldom, so that the copy costs nothing that matters.
fn push(out: &mut String, value: &impl Serialize) {
    // Texts and lists of texts cannot fail to be written.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
}
