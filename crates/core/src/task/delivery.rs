//! [`Delivery`]: hands the call of a task to its agent. Every durable call has one; [`TaskRegistry`](super::TaskRegistry)
//! starts it together with the call's recorder, in `TaskRegistry::deliver_and_record`.
//!
//! The agent's entry gives the call its turn (`Progress::Placed`) and wakes the delivery. The delivery commits "sent" to the
//! store and then calls [`Entry::send`](crate::entry::Entry), so that a hub that is killed never delivers a message twice.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Task;
use crate::{
    call::{Call, CallerHandle},
    clock::Progress,
    ready::ReadySet,
    store::StoreError,
};

/// Outcome of [`Delivery::deliver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivered {
    /// The agent has the call, or the call has ended.
    Done,
    /// The hub stops; the call is delivered by the next one.
    Postponed,
}

/// The delivery of one durable call.
#[derive(Debug)]
pub(super) struct Delivery {
    task: Arc<Task>,
    call: Arc<Call>,
    /// Whether the store has the call as sent.
    is_marked: bool,
}

impl Delivery {
    /// A delivery of `call`; `is_marked` if the task's record says "sent" already.
    pub(super) fn new(task: Arc<Task>, call: Arc<Call>, is_marked: bool) -> Self {
        Self {
            task,
            call,
            is_marked,
        }
    }

    /// Waits for the call's turn and delivers the call. `asking` adds to `ready_set` when the call ends while it waits.
    pub(super) async fn deliver(
        &mut self,
        asking: &CallerHandle,
        ready_set: &Arc<ReadySet>,
        stopping: &CancellationToken,
    ) -> Result<Delivered, StoreError> {
        let call = self.call.clone();
        loop {
            let placed = call.placed.notified();
            tokio::pin!(placed);
            placed.as_mut().enable();
            // A call that the agent got before a restart is sent already.
            if call.is_ended() || call.is_sent() {
                return Ok(Delivered::Done);
            }
            if stopping.is_cancelled() {
                self.unmark().await?;
                return Ok(Delivered::Postponed);
            }
            if call.clock.lock().progress == Progress::Placed {
                if !self.is_marked {
                    // Followers are not told that the agent has a message that it never gets.
                    if call.end_without_right() {
                        continue;
                    }
                    self.task.mark(true).await?;
                    self.is_marked = true;
                    // The commit took a while: look again.
                    continue;
                }
                if call.entry.send(&call) {
                    return Ok(Delivered::Done);
                }
                // The agent left in between and never saw the message.
                if call.is_ended() {
                    self.is_marked = false;
                } else {
                    self.unmark().await?;
                }
                continue;
            }
            let mut keys = Vec::new();
            tokio::select! {
                () = placed => {}
                // The call ended while it waited: wake once more, for the recorder.
                () = ready_set.wait(&mut keys) => asking.listen(ready_set.handle(0)),
                () = stopping.cancelled() => {}
            }
        }
    }

    /// Commits that the agent does not have the call, after its connection gave the call back.
    pub(super) async fn unmark(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.is_marked) {
            self.task.mark(false).await?;
        }
        Ok(())
    }
}
