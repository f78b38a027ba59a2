//! [`Turns`]: readers that wait for the next turn of a task whose agent waits for another message.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Cursor, Task, TaskRegistry};
use jackfield_model::{Failure, TaskId};

use crate::{hub::stopping, principal::Principal};

/// Wake-ups of waiting readers, by task.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<TaskId, Weak<Notify>>>);

/// A waiting reader. The last one to leave removes the wake-up.
struct TurnWaiter<'a> {
    turns: &'a Turns,
    id: TaskId,
    wakeup: Arc<Notify>,
}

impl Turns {
    /// Wakes the readers of a task: a turn has begun, or the task is over.
    pub(super) fn tell(&self, id: TaskId) {
        let wakeup = self.0.lock().get(&id).and_then(Weak::upgrade);
        if let Some(wakeup) = wakeup {
            wakeup.notify_waiters();
        }
    }

    fn wait_for(&self, id: TaskId) -> TurnWaiter<'_> {
        let mut wakeups = self.0.lock();
        let wakeup = wakeups.get(&id).and_then(Weak::upgrade);
        let wakeup = wakeup.unwrap_or_else(|| {
            let wakeup = Arc::new(Notify::new());
            wakeups.insert(id, Arc::downgrade(&wakeup));
            wakeup
        });
        TurnWaiter {
            turns: self,
            id,
            wakeup,
        }
    }
}

impl Drop for TurnWaiter<'_> {
    fn drop(&mut self) {
        let mut wakeups = self.turns.0.lock();
        if Arc::strong_count(&self.wakeup) == 1 {
            wakeups.remove(&self.id);
        }
    }
}

impl TaskRegistry {
    /// Waits until the task has more than up to `after`, or is over. Fails if the task is no longer kept, or
    /// the hub stops. Cancel-safe.
    pub async fn next_turn(
        &self,
        principal: &Principal,
        id: TaskId,
        after: Cursor,
    ) -> Result<Arc<Task>, Failure> {
        let waiting = self.turns.wait_for(id);
        loop {
            let told = waiting.wakeup.notified();
            tokio::pin!(told);
            // Before the look, so that a turn that begins right after it is not missed.
            told.as_mut().enable();
            let task = self.find(principal, id).await?;
            let record = task.record();
            if record.state.is_final() || record.log_end > after.pos || self.live.contains(id) {
                return Ok(task);
            }
            tokio::select! {
                () = told => {}
                () = self.stopping.cancelled() => return Err(stopping()),
            }
        }
    }
}
