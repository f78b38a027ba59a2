//! [`Recorder`]: reads the reply of one durable call and writes it to the log, from the call's [`Delivery`] to the end of the
//! turn. [`TaskRegistry`](super::TaskRegistry) starts it. It takes less from the pipe while the store is slow, which paces the
//! agent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Task, TurnEnd,
    delivery::{Delivered, Delivery},
    live::LiveTasks,
    not_written,
};
use jackfield_model::{End, Event, Failure, Reason};

use crate::{
    agent::Keep,
    call::CallerHandle,
    limits::Limits,
    ready::ReadySet,
    store::{Receipt, StoreError},
    units::Size,
};

/// Bytes that are taken from the pipe at once: about one batch of the store.
const BATCH: usize = 256 << 10;
/// First pause before the end of a task is written again to a failing store; each further pause is twice as
/// long.
const END_RETRY: Duration = Duration::from_secs(1);
/// Longest such pause: short enough for readers once there is room again, long enough for a failing store.
const END_RETRY_MOST: Duration = Duration::from_secs(15);

/// Rows on their way to the store.
#[derive(Debug)]
struct PendingWrite {
    receipt: Receipt,
    bytes: usize,
    /// Number of the agent's last frame in the rows.
    seq: Option<u64>,
}

/// Outcome of the recording.
enum RecordingEnd {
    /// The call has ended.
    Ended {
        /// Last events, which are written together with the end.
        events: Vec<(Event, Option<u64>)>,
        end: End,
        /// The agent's number of the end frame.
        seq: Option<u64>,
    },
    /// The store failed, and so did the call.
    NotWritten,
    /// The agent could not be reached and never saw the call, which waits for the agent again.
    GivenBack,
    /// The hub stops, and the next one goes on with the call: the call was not sent, or its agent may resume
    /// it.
    Parked,
}

pub(super) struct Recorder {
    task: Arc<Task>,
    asking: CallerHandle,
    ready_set: Arc<ReadySet>,
    /// Writes that are not committed yet.
    pending_writes: VecDeque<PendingWrite>,
    pending_bytes: usize,
    pending_max: usize,
    /// Bytes of this call that were written to the log, and their limit.
    logged_bytes: usize,
    logged_max: Size,
    /// Whether the store has the door-specific handle of the call.
    is_noted: bool,
    /// Write of the handle, until it is committed.
    noting: Option<Receipt>,
}

impl Recorder {
    pub(super) fn new(task: Arc<Task>, asking: CallerHandle, limits: &Limits) -> Self {
        let ready_set = ReadySet::new();
        asking.listen(ready_set.handle(0));
        Self {
            is_noted: asking.call().handle().is_some(),
            task,
            asking,
            ready_set,
            pending_writes: VecDeque::new(),
            pending_bytes: 0,
            pending_max: limits.task_unwritten.0,
            logged_bytes: 0,
            logged_max: limits.task_log,
            noting: None,
        }
    }

    /// Waits until the task is `saved`, delivers its call, and records the reply until the turn is over.
    pub(super) async fn run(
        mut self,
        mut delivery: Delivery,
        saved: Receipt,
        accepted: oneshot::Sender<Result<(), StoreError>>,
        live: &LiveTasks,
        stopping: CancellationToken,
    ) {
        let saved = saved.await;
        let failed = saved.is_err();
        if failed {
            // Nothing was accepted: the caller is told, and no agent ever sees the call.
            live.remove(self.task.id);
        }
        self.task.readers.start();
        self.task.show(!failed);
        // The caller may have left; the task goes on.
        drop(accepted.send(saved));
        if failed {
            return;
        }
        let over = loop {
            let delivered = delivery
                .deliver(&self.asking, &self.ready_set, &stopping)
                .await;
            let over = match delivered {
                Ok(Delivered::Done) => self.record(&stopping).await,
                Ok(Delivered::Postponed) => RecordingEnd::Parked,
                Err(error) => self.give_up(&error),
            };
            if !matches!(over, RecordingEnd::GivenBack) {
                break over;
            }
            if let Err(error) = delivery.unmark().await {
                break self.give_up(&error);
            }
        };
        match over {
            RecordingEnd::Ended { events, end, seq } => {
                let last_seq = seq.or_else(|| last_seq(&events));
                let ending = self.task.end_turn(events, end, seq);
                let is_written = self.write_end(&ending, &stopping).await;
                // Before the readers see the end: the next turn may follow at once.
                live.remove(self.task.id);
                let ending = if is_written {
                    self.ack(last_seq);
                    ending
                } else {
                    let failed = End::Failed(not_written());
                    self.task.end_turn(Vec::new(), failed, None)
                };
                self.task.show_end(ending);
            }
            RecordingEnd::NotWritten => {
                let failed = End::Failed(not_written());
                let ending = self.task.end_turn(Vec::new(), failed, None);
                // Readers need not wait for the store: the call has failed whatever the store does next.
                self.task.show_end(ending.clone());
                // As long as the store has the task as unfinished, it is looked up here.
                self.write_end(&ending, &stopping).await;
                live.remove(self.task.id);
            }
            // The task stays in the store for the next start. A returned call is not over.
            RecordingEnd::Parked | RecordingEnd::GivenBack => {
                live.remove(self.task.id);
                self.task.show(false);
                if self.asking.call().is_sent() {
                    self.asking.leave();
                }
            }
        }
    }

    /// Writes the end of the turn. While the store fails, for example because its disk is full, the write is
    /// retried until the hub stops; the next hub then resumes the task as unfinished. Returns false if the
    /// end could not be written.
    async fn write_end(&self, ending: &TurnEnd, stopping: &CancellationToken) -> bool {
        let task = self.task.id;
        let mut pause = END_RETRY;
        loop {
            let is_last = stopping.is_cancelled();
            match self.task.write_end(ending).await {
                Ok(()) => return true,
                Err(error @ StoreError::Failed(_)) if !is_last => {
                    tracing::warn!(%task, %error, ?pause, "the end of a task cannot be written yet");
                }
                Err(error) => {
                    tracing::error!(%task, %error, "the end of a task could not be written");
                    return false;
                }
            }
            // One more attempt when the hub stops.
            timeout(pause, stopping.cancelled()).await.ok();
            pause = (pause * 2).min(END_RETRY_MOST);
        }
    }

    /// Writes the reply to the log until the call has ended and all of the reply is committed. The pipe is
    /// read only while the store keeps up.
    async fn record(&mut self, stopping: &CancellationToken) -> RecordingEnd {
        let stopped = stopping.cancelled();
        tokio::pin!(stopped);
        let call = self.asking.call().clone();
        let over = loop {
            let moved = call.placed.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if !call.is_ended() && !call.is_sent() {
                return RecordingEnd::GivenBack;
            }
            let is_paced = self.pending_bytes > self.pending_max;
            let is_open = !self.asking.call().is_ended();
            let mut keys = Vec::new();
            tokio::select! {
                written = oldest_write(&mut self.pending_writes), if !self.pending_writes.is_empty() => match written {
                    Ok((bytes, seq)) => {
                        self.pending_bytes -= bytes;
                        self.ack(seq);
                    }
                    Err(error) => return self.give_up(&error),
                },
                () = self.ready_set.wait(&mut keys), if !is_paced => {
                    let mut events = Vec::new();
                    let end = self.asking.take_marked(&mut events, BATCH);
                    self.note();
                    if !events.is_empty() && let Err(error) = self.noted().await {
                        return self.give_up(&error);
                    }
                    if let Some((end, seq)) = end {
                        break RecordingEnd::Ended { events, end, seq };
                    }
                    self.write(events);
                }
                // The call may have been returned.
                () = moved => {}
                // The grace period of the hub is over.
                () = &mut stopped, if is_open => {
                    self.note();
                    let keep = *self.task.keep.lock();
                    if keep == Keep::Full && self.asking.call().may_be_resumed() {
                        break RecordingEnd::Parked;
                    }
                    self.asking.call().finish(End::Failed(crate::hub::stopped()), true);
                }
            }
        };
        if let Err(error) = self.noted().await {
            return self.give_up(&error);
        }
        if !self.pending_writes.is_empty() {
            self.task.store.commit_appends();
        }
        while !self.pending_writes.is_empty() {
            match oldest_write(&mut self.pending_writes).await {
                Ok((_, seq)) => self.ack(seq),
                Err(error) => return self.give_up(&error),
            }
        }
        over
    }

    /// Tells the agent which frames it need not send again: those that are committed, or need not be.
    fn ack(&self, seq: Option<u64>) {
        if let Some(seq) = seq {
            self.asking.call().ack(seq);
        }
    }

    /// Writes the door-specific handle of the call, once.
    fn note(&mut self) {
        let handle = self.asking.call().handle().filter(|_| !self.is_noted);
        if let Some(handle) = handle.cloned() {
            self.is_noted = true;
            self.noting = Some(self.task.note(handle));
        }
    }

    /// Waits until the handle is committed. The handle comes before all events: a reader that has seen an
    /// event may rely on it that a killed hub resumes the rest.
    async fn noted(&mut self) -> Result<(), StoreError> {
        match self.noting.take() {
            Some(noting) => noting.await,
            None => Ok(()),
        }
    }

    fn write(&mut self, events: Vec<(Event, Option<u64>)>) {
        if events.is_empty() {
            return;
        }
        let bytes: usize = events.iter().map(|(event, _)| event.weight()).sum();
        let seq = last_seq(&events);
        match self.task.write(self.asking.call(), events) {
            Some(receipt) => {
                self.pending_writes.push_back(PendingWrite {
                    receipt,
                    bytes,
                    seq,
                });
                self.pending_bytes += bytes;
                self.logged_bytes += bytes;
                if self.logged_bytes > self.logged_max.0 {
                    self.cut_off();
                }
            }
            None => self.ack(seq),
        }
    }

    /// Fails the call because its log has reached its limit, and tells the agent to stop. Earlier events are
    /// written.
    fn cut_off(&self) {
        let max = self.logged_max;
        let text = format!("the agent said more than {max}, as much as is kept of one call");
        let end = End::Failed(Failure::new(Reason::TooLarge, text));
        self.asking.call().finish(end, true);
    }

    /// Fails the call because the store failed, and tells the agent to stop.
    fn give_up(&self, error: &StoreError) -> RecordingEnd {
        tracing::error!(task = %self.task.id, %error, "a task could not be written");
        self.asking.call().finish(End::Failed(not_written()), true);
        RecordingEnd::NotWritten
    }
}

/// Returns the agent's number of the last numbered frame.
fn last_seq(events: &[(Event, Option<u64>)]) -> Option<u64> {
    events.iter().rev().find_map(|(_, seq)| *seq)
}

/// Waits for the oldest write, and returns its bytes and the agent's number of its last frame.
async fn oldest_write(
    pending_writes: &mut VecDeque<PendingWrite>,
) -> Result<(usize, Option<u64>), StoreError> {
    let Some(oldest) = pending_writes.front_mut() else {
        return Ok((0, None));
    };
    let done = (oldest.bytes, oldest.seq);
    let result = (&mut oldest.receipt).await;
    pending_writes.pop_front();
    result.map(|()| done)
}
