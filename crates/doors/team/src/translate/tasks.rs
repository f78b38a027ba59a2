//! Conversion of task boards into protocol types.

use super::time;
use crate::{
    team::board::{BoardChange, BoardDeliverable, BoardStatus, BoardTask},
    wire,
};

/// Form of board changes for a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoardForm {
    /// Whole board, for the published web client: the client replaces its board.
    All,
    /// Added tasks only.
    Added,
}

/// Converted parts of a [`BoardChange`]. Owns the data that the wire types borrow.
#[derive(Debug, Default)]
pub(super) struct WireTasks<'a> {
    tasks: Vec<(&'a BoardTask, Vec<wire::Deliverable>)>,
    given: Vec<wire::Deliverable>,
}

impl<'a> WireTasks<'a> {
    pub(super) fn of(change: &'a BoardChange, form: BoardForm) -> Self {
        match (change, form) {
            (BoardChange::Created { all, .. }, BoardForm::All) => Self::of_tasks(all),
            (BoardChange::Created { added, .. }, BoardForm::Added) => Self::of_tasks(added),
            (BoardChange::Status { deliverables, .. }, _) => Self {
                given: deliverables.iter().map(deliverable).collect(),
                tasks: Vec::new(),
            },
        }
    }

    fn of_tasks(tasks: &'a [BoardTask]) -> Self {
        let tasks = tasks.iter().map(|task| {
            let given = task.deliverables.iter().map(deliverable);
            (task, given.collect())
        });
        Self {
            tasks: tasks.collect(),
            given: Vec::new(),
        }
    }

    /// Returns the tasks.
    pub(super) fn tasks(&self) -> Vec<wire::PlanTask<'_>> {
        let tasks = self.tasks.iter().map(|(task, given)| wire::PlanTask {
            id: &task.id,
            task_name: &task.name,
            task_id: &task.id,
            assignee_name: &task.assignee,
            description: &task.description,
            dependencies: &task.dependencies,
            file_deliverables: given,
            status: task.status.name(),
        });
        tasks.collect()
    }

    /// Returns the added deliverables, if any.
    pub(super) fn given(&self) -> Option<&[wire::Deliverable]> {
        (!self.given.is_empty()).then_some(&*self.given)
    }
}

/// Converts a deliverable.
pub(crate) fn deliverable(given: &BoardDeliverable) -> wire::Deliverable {
    wire::Deliverable {
        file_path: given.file_path.clone(),
        summary: given.summary.clone(),
        author_agent_name: given.author_agent_name.clone(),
        timestamp: time(given.timestamp),
    }
}

/// Passes the status of every begun task to `each`: the web client shows every new task as not started.
pub(super) fn each_status(tasks: &[BoardTask], each: &mut dyn FnMut(wire::EventSource<'_>)) {
    let begun = tasks.iter();
    for task in begun.filter(|task| task.status != BoardStatus::NotStarted) {
        let given: Vec<_> = task.deliverables.iter().map(deliverable).collect();
        each(wire::EventSource::TaskStatus {
            task_id: &task.id,
            new_status: task.status.name(),
            agent_name: &task.assignee,
            deliverables: (!given.is_empty()).then_some(&*given),
        });
    }
}

/// Passes the tasks of a board and then their statuses to `each`. Passes no message for an empty board.
pub(crate) fn snapshot_tasks(tasks: &[BoardTask], each: &mut dyn FnMut(wire::EventSource<'_>)) {
    if tasks.is_empty() {
        return;
    }
    let plan = WireTasks::of_tasks(tasks);
    each(wire::EventSource::TasksCreated {
        tasks: &plan.tasks(),
    });
    each_status(tasks, each);
}
