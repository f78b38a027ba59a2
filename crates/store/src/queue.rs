//! The queue of jobs for the writer, bounded in bytes and in number. A full queue refuses a job at once
//! instead of blocking. The queue decides when the writer starts a batch. Every job gets a ticket; a reader
//! can wait until the writer has completed the last ticket at the time of the read request.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use jackfield_core::store::{StoreError, TaskRecord};
use jackfield_model::TaskId;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

#[cfg(test)]
use crate::commit_hook::CommitHook;
use crate::{
    batch::{QueuedWrite, WriteOp},
    trim::Trim,
};

/// How long the first append of a batch waits for more appends (docs/promises.md, The log). Nobody waits for an append;
/// whoever does calls [`WriteQueue::make_urgent`]. All other jobs start as soon as the writer is idle.
const BATCH_WAIT: Duration = Duration::from_millis(20);
/// Weight at which a batch starts without waiting.
const BATCH_BYTES: usize = 256 << 10;
/// Maximum weight of the queue. The core stops much earlier (`task_unwritten`); this limit guards against a
/// core that does not.
const QUEUE_BYTES: usize = 256 << 20;
/// Maximum number of jobs in the queue, however small they are.
const QUEUE_LEN: usize = 1 << 18;

/// The sender of a receipt's result.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// A job for the writer.
#[derive(Debug)]
pub(crate) enum WriterJob {
    /// A write that joins a batch.
    Write(QueuedWrite),
    /// Reopens the unfinished tasks, in a transaction of its own.
    Reopen(ReplySender<Vec<TaskRecord>>),
    /// Makes the dead callbacks of a task pending again, in a transaction of its own.
    Resend(TaskId, ReplySender<bool>),
    /// Starts a trim, which continues between batches.
    Trim(Trim),
}

impl WriterJob {
    /// Returns whether the job starts at once, together with all jobs before it.
    fn is_urgent(&self) -> bool {
        match self {
            Self::Write(write) => !matches!(write.op, WriteOp::Append { .. }),
            Self::Reopen(_) | Self::Resend(..) | Self::Trim(_) => true,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Write(write) => write.op.weight(),
            Self::Reopen(_) | Self::Resend(..) | Self::Trim(_) => 0,
        }
    }

    fn refuse(self, error: StoreError) {
        // A caller that dropped its receipt needs no result.
        match self {
            Self::Write(write) => drop(write.reply.send(Err(error))),
            Self::Reopen(reply) => drop(reply.send(Err(error))),
            Self::Resend(_, reply) => drop(reply.send(Err(error))),
            Self::Trim(trim) => trim.finish(Err(error)),
        }
    }
}

/// The writer's next work.
#[derive(Debug)]
pub(crate) enum WriterWork {
    /// Writes for one transaction.
    Batch(Vec<QueuedWrite>),
    /// A job that is not a write.
    Alone(WriterJob),
    /// No work is ready.
    Nothing,
    /// The store is closed and all jobs are done.
    Closed,
}

#[derive(Debug)]
struct QueuedJob {
    job: WriterJob,
    weight: usize,
    since: Instant,
}

#[derive(Debug, Default)]
struct WriteQueueState {
    waiting: VecDeque<QueuedJob>,
    /// Weight of all waiting jobs.
    bytes: usize,
    /// Number of jobs ever queued: the ticket of the last job.
    handed_over: u64,
    /// Number of jobs that the writer has completed.
    passed: u64,
    /// The last urgent ticket; the writer does not delay jobs up to this ticket.
    urgent: u64,
    /// Whether the queue refuses new jobs.
    closed: bool,
    /// Whether the writer has ended.
    dead: bool,
}

impl WriteQueueState {
    /// Returns `Ok` if the writer should start now, otherwise the time until which the writer may wait for
    /// more jobs.
    fn due(&self) -> Result<(), Option<Instant>> {
        let Some(first) = self.waiting.front() else {
            return if self.closed { Ok(()) } else { Err(None) };
        };
        let first_ticket = self.handed_over - self.waiting.len() as u64 + 1;
        if self.closed || first_ticket <= self.urgent || self.bytes >= BATCH_BYTES {
            return Ok(());
        }
        let deadline = first.since + BATCH_WAIT;
        if deadline <= Instant::now() {
            Ok(())
        } else {
            Err(Some(deadline))
        }
    }

    fn pop(&mut self) -> Option<WriterJob> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.weight;
        Some(first.job)
    }

    fn next(&mut self) -> WriterWork {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(QueuedJob {
            job: WriterJob::Write(_),
            weight,
            ..
        }) = self.waiting.front()
            && bytes < BATCH_BYTES
        {
            bytes += weight;
            if let Some(WriterJob::Write(write)) = self.pop() {
                batch.push(write);
            }
        }
        if !batch.is_empty() {
            return WriterWork::Batch(batch);
        }
        self.pop().map_or(WriterWork::Closed, WriterWork::Alone)
    }
}

/// The queue between the store and its writer.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    state: Mutex<WriteQueueState>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes readers that wait for a ticket.
    progress: Condvar,
    /// Fault points of the writer.
    #[cfg(test)]
    pub(crate) commit_hook: CommitHook,
}

impl WriteQueue {
    /// Queues a [`WriterJob`], or refuses the job at once.
    pub(crate) fn push(&self, job: WriterJob) {
        let weight = job.weight();
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return job.refuse(StoreError::Closed);
        }
        if state.waiting.len() >= QUEUE_LEN
            || (state.bytes + weight > QUEUE_BYTES && !state.waiting.is_empty())
        {
            let text = format!(
                "it is overloaded: {} writes of {} bytes wait",
                state.waiting.len(),
                state.bytes
            );
            drop(state);
            return job.refuse(StoreError::Failed(text));
        }
        let was_due = state.bytes >= BATCH_BYTES;
        let urgent = job.is_urgent();
        state.handed_over += 1;
        if urgent {
            state.urgent = state.handed_over;
        }
        state.bytes += weight;
        state.waiting.push_back(QueuedJob {
            job,
            weight,
            since: Instant::now(),
        });
        // Wake the writer for the first write, then only when waiting longer has no use.
        let wake = state.waiting.len() == 1 || urgent || (!was_due && state.bytes >= BATCH_BYTES);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Makes all waiting jobs urgent, and returns the ticket of the last job.
    pub(crate) fn make_urgent(&self) -> u64 {
        let mut state = self.state.lock();
        let ticket = state.handed_over;
        if !state.waiting.is_empty() && state.urgent < ticket {
            state.urgent = ticket;
            drop(state);
            self.work.notify_one();
        }
        ticket
    }

    /// Waits until the writer has completed `ticket`. Returns false if the writer ended before.
    pub(crate) fn wait_until_completed(&self, ticket: u64) -> bool {
        let mut state = self.state.lock();
        self.progress
            .wait_while(&mut state, |state| state.passed < ticket && !state.dead);
        state.passed >= ticket
    }

    /// Returns the writer's [`WriterWork`] work. With `patient`, waits for work; without, returns [`WriterWork::Nothing`]
    /// if no work is ready.
    pub(crate) fn take(&self, patient: bool) -> WriterWork {
        let mut state = self.state.lock();
        loop {
            match state.due() {
                Ok(()) => return state.next(),
                Err(_) if !patient => return WriterWork::Nothing,
                Err(None) => self.work.wait(&mut state),
                Err(Some(deadline)) => drop(self.work.wait_until(&mut state, deadline)),
            }
        }
    }

    /// Marks `jobs` more jobs as completed.
    pub(crate) fn mark_completed(&self, jobs: usize) {
        self.state.lock().passed += jobs as u64;
        self.progress.notify_all();
    }

    /// Refuses new jobs from now on; the writer completes the waiting jobs and ends.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.work.notify_one();
    }

    /// Marks the writer as ended. If it ended early, the waiting jobs are dropped and their receipts report a
    /// closed store.
    pub(crate) fn mark_dead(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.dead = true;
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        self.progress.notify_all();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use jackfield_core::store::Receipt;

    use super::*;

    fn write(op: WriteOp) -> WriterJob {
        let (reply, _receipt) = Receipt::<()>::pair();
        WriterJob::Write(QueuedWrite { op, reply })
    }

    fn append() -> WriterJob {
        write(WriteOp::Append {
            task: TaskId::new(),
            rows: Vec::new(),
            told: Vec::new(),
        })
    }

    fn is_due(queue: &WriteQueue) -> bool {
        queue.state.lock().due().is_ok()
    }

    #[test]
    fn only_appends_wait_for_others_to_join_them() {
        let queue = WriteQueue::default();
        queue.push(append());
        assert!(!is_due(&queue));
        queue.push(write(WriteOp::Probe));
        assert!(is_due(&queue), "whatever is waited for starts at once");
        let WriterWork::Batch(batch) = queue.take(false) else {
            panic!("there is a batch");
        };
        assert_eq!(batch.len(), 2, "and takes the appends along");
    }

    #[test]
    fn appends_start_at_once_when_somebody_waits_for_them() {
        let queue = WriteQueue::default();
        queue.push(append());
        queue.make_urgent();
        assert!(is_due(&queue));
    }
}
