//! Cache of the tasks that were written recently, so that a write needs no read. An evicted task is read again.

use std::collections::HashMap;

use jackfield_model::TaskId;

use crate::{tail::LogTail, tasks::TaskIdentity};

/// Size of each of the two cache generations, in bytes: see [`TaskCache`].
const GENERATION_BYTES: usize = 4 << 20;
/// Weight of a task besides its texts.
const TASK_OVERHEAD: usize = 512;

/// What the writer knows of a task without reading the database.
#[derive(Debug, Default)]
pub(crate) struct KnownTask {
    /// The tail of the task's log.
    pub(crate) tail: Option<LogTail>,
    /// The task's identity, as written. The task exists if it is known.
    pub(crate) identity: Option<TaskIdentity>,
}

impl KnownTask {
    fn weight(&self) -> usize {
        TASK_OVERHEAD
            + self.tail.as_ref().map_or(0, LogTail::text_len)
            + self.identity.as_ref().map_or(0, TaskIdentity::text_len)
    }
}

/// Cache of recently written tasks, in two generations. When the young generation is full, it replaces the old
/// generation, and tasks not written since are evicted.
#[derive(Debug, Default)]
pub(crate) struct TaskCache {
    young: HashMap<TaskId, KnownTask>,
    old: HashMap<TaskId, KnownTask>,
    /// Weight of the young generation.
    bytes: usize,
}

impl TaskCache {
    /// Takes a task out of the cache. Nothing is known of a task that is not there.
    pub(crate) fn take(&mut self, task: TaskId) -> KnownTask {
        match self.young.remove(&task) {
            Some(known) => {
                self.bytes -= known.weight();
                known
            }
            None => self.old.remove(&task).unwrap_or_default(),
        }
    }

    /// Puts a task into the cache. Its tail must be flushed.
    pub(crate) fn put(&mut self, task: TaskId, known: KnownTask) {
        self.bytes += known.weight();
        self.young.insert(task, known);
        if self.bytes > GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
    }

    /// Removes a task from the cache.
    pub(crate) fn forget(&mut self, task: TaskId) {
        drop(self.take(task));
    }

    /// Clears the cache, because the tasks of a rolled-back transaction are not on disk.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
