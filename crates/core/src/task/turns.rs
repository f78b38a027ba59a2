//! Waiting for the next turn of a task that waits for its caller: readers who want to see it to its end stay for it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Cursor, Task, TaskBook};
use jackfield_model::{Failure, TaskId};

use crate::{hub::stopping, principal::Principal};

/// Those who wait, by the task they wait for.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<TaskId, Weak<Notify>>>);

/// One who waits. The last one to leave takes the bell along.
struct Waiting<'a> {
    turns: &'a Turns,
    id: TaskId,
    bell: Arc<Notify>,
}

impl Turns {
    /// A turn has begun, or the task is over.
    pub(super) fn tell(&self, id: TaskId) {
        let bell = self.0.lock().get(&id).and_then(Weak::upgrade);
        if let Some(bell) = bell {
            bell.notify_waiters();
        }
    }

    fn wait_for(&self, id: TaskId) -> Waiting<'_> {
        let mut bells = self.0.lock();
        let bell = bells.get(&id).and_then(Weak::upgrade);
        let bell = bell.unwrap_or_else(|| {
            let bell = Arc::new(Notify::new());
            bells.insert(id, Arc::downgrade(&bell));
            bell
        });
        Waiting {
            turns: self,
            id,
            bell,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut bells = self.turns.0.lock();
        if Arc::strong_count(&self.bell) == 1 {
            bells.remove(&self.id);
        }
    }
}

impl TaskBook {
    /// The task once there is more of it than up to the cursor, or once it is over; fails if it is not kept any more, or
    /// when the hub stops. Cancel-safe.
    pub async fn next_turn(
        &self,
        principal: &Principal,
        id: TaskId,
        after: Cursor,
    ) -> Result<Arc<Task>, Failure> {
        let waiting = self.turns.wait_for(id);
        loop {
            let told = waiting.bell.notified();
            tokio::pin!(told);
            // Before the look, so that a turn that begins right after it is not missed.
            told.as_mut().enable();
            let task = self.find(principal, id).await?;
            let record = task.record();
            if record.state.is_final() || record.log_end > after.pos || self.is_live(id) {
                return Ok(task);
            }
            tokio::select! {
                () = told => {}
                () = self.stopping.cancelled() => return Err(stopping()),
            }
        }
    }
}
