//! [`LiveTasks`]: the tasks that this process works on, by id. [`TaskRegistry`](super::TaskRegistry) owns the table; the
//! recorders remove their tasks from it, and calls find the task that logs an answer.
//!
//! Its lock comes before the record's lock of a [`Task`], and is never taken under it.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::Task;
use jackfield_model::{Answer, TaskId};

use crate::{call::Call, store::TaskRecord};

/// The tasks that this process works on.
#[derive(Debug, Default)]
pub(crate) struct LiveTasks(Mutex<HashMap<TaskId, Arc<Task>>>);

impl LiveTasks {
    pub(super) fn get(&self, id: TaskId) -> Option<Arc<Task>> {
        self.0.lock().get(&id).cloned()
    }

    pub(super) fn contains(&self, id: TaskId) -> bool {
        self.0.lock().contains_key(&id)
    }

    pub(super) fn all(&self) -> Vec<Arc<Task>> {
        self.0.lock().values().cloned().collect()
    }

    /// Returns the records of all live tasks, as of one moment.
    pub(super) fn records(&self) -> Vec<TaskRecord> {
        let live = self.0.lock();
        live.values().map(|task| task.record()).collect()
    }

    /// Replaces records that the store returned by those of live tasks, which may be newer.
    pub(super) fn refresh(&self, records: &mut [TaskRecord]) {
        let live = self.0.lock();
        for record in records {
            if let Some(task) = live.get(&record.id) {
                *record = task.record();
            }
        }
    }

    pub(super) fn insert(&self, task: Arc<Task>) {
        self.0.lock().insert(task.id, task);
    }

    pub(super) fn remove(&self, id: TaskId) {
        self.0.lock().remove(&id);
    }

    /// Logs the answer to a question of a call, if the call belongs to a live task.
    pub(crate) fn answered(&self, call: &Call, ask_id: &str, answer: Answer) {
        if let Some(task) = call.task.and_then(|id| self.get(id)) {
            task.answered(call, ask_id, answer);
        }
    }
}
