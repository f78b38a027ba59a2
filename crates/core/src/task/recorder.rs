//! Reads one kept call: waits for its turn, has it written down as sent, hands it to the agent, and writes the reply
//! to the log. Taking less from the pipe is how a slow store paces the agent.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Ending, Task, not_written};
use jackfield_model::{End, Event, Failure, Reason, TaskId};

use crate::{
    agent::Keep,
    bell::Bell,
    call::Asking,
    clock::Progress,
    limits::Limits,
    store::{Receipt, StoreError},
    units::Size,
};

/// How much is taken from the pipe at once: about one batch of the store.
const BATCH: usize = 256 << 10;
/// The first pause before the end of a task is written again to a store that failed; each that follows is twice as long.
const END_RETRY: Duration = Duration::from_secs(1);
/// The longest such pause: nobody waits much longer than this once there is room again, and a failing store is asked seldom.
const END_RETRY_MOST: Duration = Duration::from_secs(15);

/// Rows handed to the store.
#[derive(Debug)]
struct Unwritten {
    receipt: Receipt,
    bytes: usize,
    /// The agent's number of the last frame in them.
    seq: Option<u64>,
}

/// How recording came to its end.
enum Over {
    /// The call has ended, with the agent's number of the end.
    Ended(End, Option<u64>),
    /// The store failed, and so did the call.
    Unwritten,
    /// The agent could not be reached and never saw the call, which waits for it again.
    GivenBack,
    /// The hub stops, and the call goes on at the next one: it was not sent, or its agent may resume it.
    Parked,
}

pub(super) struct Recorder {
    task: Arc<Task>,
    asking: Asking,
    bell: Arc<Bell>,
    /// What is not committed yet.
    unwritten: VecDeque<Unwritten>,
    unwritten_bytes: usize,
    unwritten_max: usize,
    /// How much of this call was handed to the store, and how much may be.
    logged_bytes: usize,
    logged_max: Size,
    /// Whether the store was told by what the agent's door finds the work again.
    is_noted: bool,
    /// That it was told, until it is committed.
    noting: Option<Receipt>,
}

impl Recorder {
    pub(super) fn new(task: Arc<Task>, asking: Asking, limits: &Limits) -> Self {
        let bell = Bell::new();
        asking.listen(bell.rope(0));
        Self {
            is_noted: asking.call().handle().is_some(),
            task,
            asking,
            bell,
            unwritten: VecDeque::new(),
            unwritten_bytes: 0,
            unwritten_max: limits.task_unwritten.0,
            logged_bytes: 0,
            logged_max: limits.task_log,
            noting: None,
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
        }
        self.task.readers.start();
        self.task.show(!failed);
        // The caller may have left; the task goes on.
        drop(accepted.send(saved));
        if failed {
            return;
        }
        let over = loop {
            let over = match self.send(&mut sent, &stopping).await {
                Ok(true) => self.record(&stopping).await,
                Ok(false) => Over::Parked,
                Err(error) => self.give_up(&error),
            };
            if !matches!(over, Over::GivenBack) {
                break over;
            }
            sent = false;
            if let Err(error) = self.task.mark(false).await {
                break self.give_up(&error);
            }
        };
        match over {
            Over::Ended(end, seq) => {
                let ending = self.task.end_turn(end, seq);
                let is_written = self.write_end(&ending, &stopping).await;
                // Before its readers see the end: the next turn may follow at once.
                live.lock().remove(&self.task.id);
                let Ending { record, row, .. } = if is_written {
                    self.ack(seq);
                    ending
                } else {
                    self.task.end_turn(End::Failed(not_written()), None)
                };
                self.task.show_end(record, row);
            }
            Over::Unwritten => {
                let ending = self.task.end_turn(End::Failed(not_written()), None);
                // Its readers need not wait for the store: the call has failed whatever the store does next.
                self.task
                    .show_end(ending.record.clone(), ending.row.clone());
                // As long as the store has it as unfinished, it is looked up here.
                self.write_end(&ending, &stopping).await;
                live.lock().remove(&self.task.id);
            }
            // It stays in the store for the next start. What was given back is not over.
            Over::Parked | Over::GivenBack => {
                live.lock().remove(&self.task.id);
                self.task.show(false);
                if self.asking.call().is_sent() {
                    self.asking.leave();
                }
            }
        }
    }

    /// Writes the end of the turn. While the store is in trouble, as when its disk is full, it is tried again until the
    /// hub stops; the next hub then takes up the task as unfinished. False if the end could not be written.
    async fn write_end(&self, ending: &Ending, stopping: &CancellationToken) -> bool {
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
            // One more try when the hub stops.
            timeout(pause, stopping.cancelled()).await.ok();
            pause = (pause * 2).min(END_RETRY_MOST);
        }
    }

    /// Waits for the call's turn; `sent` is committed before the agent gets it, so that it never runs twice. False if
    /// the hub stops before that.
    async fn send(
        &mut self,
        sent: &mut bool,
        stopping: &CancellationToken,
    ) -> Result<bool, StoreError> {
        let call = self.asking.call().clone();
        loop {
            let placed = call.entry.placed.notified();
            tokio::pin!(placed);
            placed.as_mut().enable();
            // One that the agent got before a restart is sent already.
            if call.is_ended() || call.is_sent() {
                return Ok(true);
            }
            if stopping.is_cancelled() {
                if *sent {
                    self.task.mark(false).await?;
                }
                return Ok(false);
            }
            if call.clock.lock().progress == Progress::Placed {
                if !*sent {
                    // Nobody is told that the agent has what it never gets.
                    if call.end_without_right() {
                        continue;
                    }
                    self.task.mark(true).await?;
                    *sent = true;
                    // Look again: that took a while.
                    continue;
                }
                if call.entry.send(&call) {
                    return Ok(true);
                }
                // The agent left in between: it never saw the message.
                *sent = false;
                if !call.is_ended() {
                    self.task.mark(false).await?;
                }
                continue;
            }
            let mut keys = Vec::new();
            tokio::select! {
                () = placed => {}
                // It ended while it waited: ring once more, for `record` to hear.
                () = self.bell.wait(&mut keys) => self.asking.listen(self.bell.rope(0)),
                () = stopping.cancelled() => {}
            }
        }
    }

    /// Writes the reply to the log until it ends and all of it is written. The pipe is read only while the store keeps up.
    async fn record(&mut self, stopping: &CancellationToken) -> Over {
        let stopped = stopping.cancelled();
        tokio::pin!(stopped);
        let call = self.asking.call().clone();
        let over = loop {
            let moved = call.entry.placed.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if !call.is_ended() && !call.is_sent() {
                return Over::GivenBack;
            }
            let is_paced = self.unwritten_bytes > self.unwritten_max;
            let is_open = !self.asking.call().is_ended();
            let mut keys = Vec::new();
            tokio::select! {
                written = written(&mut self.unwritten), if !self.unwritten.is_empty() => match written {
                    Ok((bytes, seq)) => {
                        self.unwritten_bytes -= bytes;
                        self.ack(seq);
                    }
                    Err(error) => return self.give_up(&error),
                },
                () = self.bell.wait(&mut keys), if !is_paced => {
                    let mut events = Vec::new();
                    let end = self.asking.take_marked(&mut events, BATCH);
                    self.note();
                    if !events.is_empty() && let Err(error) = self.noted().await {
                        return self.give_up(&error);
                    }
                    self.write(events);
                    if let Some((end, seq)) = end {
                        break Over::Ended(end, seq);
                    }
                }
                // It may have been given back.
                () = moved => {}
                // The hub has waited for it as long as it does.
                () = &mut stopped, if is_open => {
                    self.note();
                    let keep = *self.task.keep.lock();
                    if keep == Keep::Full && self.asking.call().may_be_resumed() {
                        break Over::Parked;
                    }
                    self.asking.call().finish(End::Failed(crate::hub::stopped()), true);
                }
            }
        };
        if let Err(error) = self.noted().await {
            return self.give_up(&error);
        }
        while !self.unwritten.is_empty() {
            match written(&mut self.unwritten).await {
                Ok((_, seq)) => self.ack(seq),
                Err(error) => return self.give_up(&error),
            }
        }
        over
    }

    /// The agent need not send again what is kept, or what nobody wants to be kept.
    fn ack(&self, seq: Option<u64>) {
        if let Some(seq) = seq {
            self.asking.call().ack(seq);
        }
    }

    /// Writes down by what the agent's door finds the work again.
    fn note(&mut self) {
        let handle = self.asking.call().handle().filter(|_| !self.is_noted);
        if let Some(handle) = handle.cloned() {
            self.is_noted = true;
            self.noting = Some(self.task.note(handle));
        }
    }

    /// Waits until that is committed. It comes before anything that the agent says: whoever has heard a word may count on
    /// it that a killed hub goes on with the rest.
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
        let seq = events.iter().rev().find_map(|(_, seq)| *seq);
        match self.task.write(self.asking.call(), events) {
            Some(receipt) => {
                self.unwritten.push_back(Unwritten {
                    receipt,
                    bytes,
                    seq,
                });
                self.unwritten_bytes += bytes;
                self.logged_bytes += bytes;
                if self.logged_bytes > self.logged_max.0 {
                    self.cut_off();
                }
            }
            None => self.ack(seq),
        }
    }

    /// The log has as much of this call as it may: the agent is told to stop. What it said until then is written.
    fn cut_off(&self) {
        let max = self.logged_max;
        let text = format!("the agent said more than {max}, as much as is kept of one call");
        let end = End::Failed(Failure::new(Reason::TooLarge, text));
        self.asking.call().finish(end, true);
    }

    /// The store failed: so does the call, and the agent is told to stop.
    fn give_up(&self, error: &StoreError) -> Over {
        tracing::error!(task = %self.task.id, %error, "a task could not be written");
        self.asking.call().finish(End::Failed(not_written()), true);
        Over::Unwritten
    }
}

/// Waits for the oldest write; how many bytes it had, and the agent's number of its last frame.
async fn written(unwritten: &mut VecDeque<Unwritten>) -> Result<(usize, Option<u64>), StoreError> {
    let Some(oldest) = unwritten.front_mut() else {
        return Ok((0, None));
    };
    let done = (oldest.bytes, oldest.seq);
    let result = (&mut oldest.receipt).await;
    unwritten.pop_front();
    result.map(|()| done)
}
