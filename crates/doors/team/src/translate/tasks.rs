//! A team's board in the protocol's words.

use super::time;
use crate::{
    team::board::{BoardChange, BoardStatus, BoardTask, Deliverable},
    wire,
};

/// What a viewer is shown when tasks are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoardForm {
    /// The whole board: the published web client replaces what it has.
    All,
    /// What was added.
    Added,
}

/// What is shown of a board, as far as the protocol has another form for it.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    tasks: Vec<(&'a BoardTask, Vec<wire::Deliverable>)>,
    given: Vec<wire::Deliverable>,
}

impl<'a> Plan<'a> {
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

    /// The tasks.
    pub(super) fn tasks(&self) -> Vec<wire::TaskView<'_>> {
        let tasks = self.tasks.iter().map(|(task, given)| wire::TaskView {
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

    /// What a task gave, if anything.
    pub(super) fn given(&self) -> Option<&[wire::Deliverable]> {
        (!self.given.is_empty()).then_some(&*self.given)
    }
}

/// A file that a task gave.
pub(crate) fn deliverable(given: &Deliverable) -> wire::Deliverable {
    wire::Deliverable {
        file_path: given.file_path.clone(),
        summary: given.summary.clone(),
        author_agent_name: given.author_agent_name.clone(),
        timestamp: time(given.timestamp),
    }
}

/// How far the tasks are that somebody has begun: the web client takes every task that it is shown for one that nobody
/// has.
pub(super) fn each_status(tasks: &[BoardTask], each: &mut dyn FnMut(wire::Source<'_>)) {
    let begun = tasks.iter();
    for task in begun.filter(|task| task.status != BoardStatus::NotStarted) {
        let given: Vec<_> = task.deliverables.iter().map(deliverable).collect();
        each(wire::Source::TaskStatus {
            task_id: &task.id,
            new_status: task.status.name(),
            agent_name: &task.assignee,
            deliverables: (!given.is_empty()).then_some(&*given),
        });
    }
}

/// How a board stands: its tasks, then how far they are. Nothing if there are none.
pub(crate) fn snapshot_tasks(tasks: &[BoardTask], each: &mut dyn FnMut(wire::Source<'_>)) {
    if tasks.is_empty() {
        return;
    }
    let plan = Plan::of_tasks(tasks);
    each(wire::Source::TasksCreated {
        tasks: &plan.tasks(),
    });
    each_status(tasks, each);
}
