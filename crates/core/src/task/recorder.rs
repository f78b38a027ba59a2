//! Reads one kept call: waits for its turn, has it written down as sent, hands it to the agent, and writes the reply
//! to the log. Taking less from the pipe is how a slow store paces the agent.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Task, state_after};
use crate::{
    bell::Bell,
    call::Asking,
    clock::Stage,
    event::{End, Event},
    failure::{Failure, Reason},
    id::TaskId,
    pipe::Item,
    store::{LogItem, Receipt, StoreError, TaskState},
};

/// How much is taken from the pipe at once: about one batch of the store.
const BATCH: usize = 256 << 10;

pub(super) struct Recorder {
    task: Arc<Task>,
    asking: Asking,
    bell: Arc<Bell>,
    /// Rows handed to the store and not yet committed, with their bytes.
    unwritten: VecDeque<(Receipt, usize)>,
    unwritten_bytes: usize,
    unwritten_max: usize,
}

impl Recorder {
    pub(super) fn new(task: Arc<Task>, asking: Asking, unwritten_max: usize) -> Self {
        let bell = Bell::new();
        asking.listen(bell.rope(0));
        Self {
            task,
            asking,
            bell,
            unwritten: VecDeque::new(),
            unwritten_bytes: 0,
            unwritten_max,
        }
    }

    pub(super) async fn run(
        mut self,
        mut sent: bool,
        saved: Receipt,
        accepted: oneshot::Sender<Result<(), StoreError>>,
        live: &Mutex<HashMap<TaskId, Arc<Task>>>,
        stopping: CancellationToken,
    ) {
        let saved = saved.await;
        let failed = saved.is_err();
        if failed {
            // Nothing was accepted: the caller is told, and no agent ever sees it.
            live.lock().remove(&self.task.id);
            self.task.show(false);
        }
        // The caller may have left; the task goes on.
        drop(accepted.send(saved));
        if failed {
            return;
        }
        self.task.show(true);
        let end = tokio::select! {
            end = self.record(&mut sent) => end,
            // Only a call that was never sent is still open then: it stays in the store for the next start.
            () = stopping.cancelled(), if !self.asking.call().is_ended() && self.is_unsent() => {
                live.lock().remove(&self.task.id);
                return;
            }
        };
        self.conclude(end).await;
        live.lock().remove(&self.task.id);
    }

    fn is_unsent(&self) -> bool {
        self.asking.call().clock.lock().stage != Stage::Sent
    }

    async fn record(&mut self, sent: &mut bool) -> End {
        if let Err(error) = self.send(sent).await {
            return self.give_up(&error);
        }
        loop {
            self.bell.wait(&mut Vec::new()).await;
            let mut events = Vec::new();
            let end = self.asking.take(&mut events, BATCH);
            if !events.is_empty()
                && let Err(error) = self.write(events).await
            {
                return self.give_up(&error);
            }
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Waits for the call's turn; `sent` is committed before the agent gets it, so that it never runs twice.
    async fn send(&mut self, sent: &mut bool) -> Result<(), StoreError> {
        let call = self.asking.call().clone();
        loop {
            let placed = call.entry.placed.notified();
            tokio::pin!(placed);
            placed.as_mut().enable();
            if call.is_ended() {
                return Ok(());
            }
            if call.clock.lock().stage == Stage::Placed {
                if !*sent {
                    self.mark(true).await?;
                    *sent = true;
                }
                if call.entry.send(&call) {
                    return Ok(());
                }
                // The agent left in between: it never saw the message, so that it may wait, or fails here.
                self.mark(false).await?;
                *sent = false;
                if call.clock.lock().wait_until.is_none() {
                    call.finish(End::Failed(Failure::agent_offline()), false);
                    return Ok(());
                }
                continue;
            }
            let mut keys = Vec::new();
            tokio::select! {
                () = placed => {}
                // It ended while it waited: ring once more, for `record` to hear.
                () = self.bell.wait(&mut keys) => self.asking.listen(self.bell.rope(0)),
            }
        }
    }

    fn mark(&self, sent: bool) -> Receipt {
        let record = self.task.change(|record| {
            record.sent = sent;
            record.state = if sent {
                TaskState::Working
            } else {
                TaskState::Submitted
            };
        });
        self.task.save(record, Vec::new(), true)
    }

    async fn write(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        let bytes: usize = events.iter().map(Item::weight).sum();
        let asks = events.iter().any(|event| matches!(event, Event::Ask(_)));
        let items = events
            .into_iter()
            .map(|event| (LogItem::Event(event), None))
            .collect();
        if let Some(receipt) = self.task.append(items) {
            self.unwritten.push_back((receipt, bytes));
            self.unwritten_bytes += bytes;
        }
        if asks {
            let record = self
                .task
                .change(|record| record.state = TaskState::InputRequired);
            // The log has the question; that the record says so too may come with the next commit.
            drop(self.task.save(record, Vec::new(), false));
        }
        while self.unwritten_bytes > self.unwritten_max {
            let Some((receipt, bytes)) = self.unwritten.pop_front() else {
                break;
            };
            receipt.await?;
            self.unwritten_bytes -= bytes;
        }
        Ok(())
    }

    /// The store failed: so does the call, and the agent is told to stop.
    fn give_up(&self, error: &StoreError) -> End {
        tracing::error!(task = %self.task.id, %error, "a task could not be written");
        let end = End::Failed(Failure::new(Reason::Internal, "the hub's store failed"));
        self.asking.call().finish(end.clone(), true);
        end
    }

    /// Writes the end and the final state in one commit; readers see the end when it is durable.
    async fn conclude(&self, end: End) {
        let state = state_after(&end);
        let failure = if let End::Failed(failure) = &end {
            Some(failure.clone())
        } else {
            None
        };
        let rows = self.task.number(vec![(LogItem::End(end), None)]);
        let record = self.task.change(|record| {
            record.state = state;
            record.sent = false;
            record.failure = failure;
        });
        if let Err(error) = self.task.save(record, rows, true).await {
            tracing::error!(task = %self.task.id, %error, "the end of a task could not be written");
        }
        self.task.show(false);
    }
}
