//! What waits for the writer: a queue bounded in bytes and in number, into which nobody ever waits to put something.
//! It decides when the writer starts on a batch, and it counts: everything handed over gets a ticket, and a reader may
//! wait until the writer has passed the ticket that was last when its read was asked for.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use jackfield_core::store::{StoreError, TaskRecord};
use jackfield_model::TaskId;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::{batch::Write, trim::Trim};

/// How long the first write of a batch waits for others (docs/promises.md, The log).
const BATCH_WAIT: Duration = Duration::from_millis(20);
/// A batch that weighs this much waits no longer.
const BATCH_BYTES: usize = 256 << 10;
/// All that may wait. The core holds itself back long before (`task_unwritten`); this guards against one that does not.
const QUEUE_BYTES: usize = 256 << 20;
/// How many may wait, however small they are.
const QUEUE_LEN: usize = 1 << 18;

/// The other end of a receipt.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer does.
#[derive(Debug)]
pub(crate) enum Job {
    /// Joins a batch.
    Write(Write),
    /// Opens the unfinished tasks, by itself.
    Reopen(Reply<Vec<TaskRecord>>),
    /// Sends the dead callbacks of a task again, by itself.
    Resend(TaskId, Reply<bool>),
    /// Begins to trim; goes on between batches.
    Trim(Trim),
}

impl Job {
    /// Whether it starts at once, with all that waits before it.
    fn is_urgent(&self) -> bool {
        match self {
            Self::Write(write) => write.op.is_durable(),
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
        // Nobody needs to be told who did not wait for the receipt.
        match self {
            Self::Write(write) => drop(write.reply.send(Err(error))),
            Self::Reopen(reply) => drop(reply.send(Err(error))),
            Self::Resend(_, reply) => drop(reply.send(Err(error))),
            Self::Trim(trim) => trim.finish(Err(error)),
        }
    }
}

/// What the writer gets to do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// These writes, in one transaction.
    Batch(Vec<Write>),
    /// One job that is no write.
    Alone(Job),
    /// Nothing is ready.
    Nothing,
    /// The store is closed and all is done.
    Closed,
}

#[derive(Debug)]
struct Waiting {
    job: Job,
    weight: usize,
    since: Instant,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The weight of all that waits.
    bytes: usize,
    /// How many jobs were ever handed over: the last one's ticket.
    handed_over: u64,
    /// How many of them the writer is done with.
    passed: u64,
    /// The last ticket that somebody is in a hurry for.
    urgent: u64,
    /// Whether nothing more is taken.
    closed: bool,
    /// Whether the writer is gone.
    dead: bool,
}

impl State {
    /// Whether the writer should start now; if not, until when it may wait for more.
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

    fn pop(&mut self) -> Option<Job> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.weight;
        Some(first.job)
    }

    fn next(&mut self) -> Next {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(Waiting {
            job: Job::Write(_),
            weight,
            ..
        }) = self.waiting.front()
            && bytes < BATCH_BYTES
        {
            bytes += weight;
            if let Some(Job::Write(write)) = self.pop() {
                batch.push(write);
            }
        }
        if !batch.is_empty() {
            return Next::Batch(batch);
        }
        self.pop().map_or(Next::Closed, Next::Alone)
    }
}

/// The queue between the store and its writer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Rings for the writer.
    work: Condvar,
    /// Rings for whoever waits for a ticket.
    progress: Condvar,
}

impl Queue {
    /// Puts a job into the queue, or refuses it there and then.
    pub(crate) fn hand_over(&self, job: Job) {
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
        state.waiting.push_back(Waiting {
            job,
            weight,
            since: Instant::now(),
        });
        // The writer is woken for the first write, then only when it need not wait any longer.
        let wake = state.waiting.len() == 1 || urgent || (!was_due && state.bytes >= BATCH_BYTES);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Hurries up all that waits now, and returns the ticket of the last of it.
    pub(crate) fn hurry(&self) -> u64 {
        let mut state = self.state.lock();
        let ticket = state.handed_over;
        if !state.waiting.is_empty() && state.urgent < ticket {
            state.urgent = ticket;
            drop(state);
            self.work.notify_one();
        }
        ticket
    }

    /// Waits until the writer has passed this ticket. False if it never will.
    pub(crate) fn wait_for(&self, ticket: u64) -> bool {
        let mut state = self.state.lock();
        self.progress
            .wait_while(&mut state, |state| state.passed < ticket && !state.dead);
        state.passed >= ticket
    }

    /// The writer's next work. With `patient`, waits for it; without, returns `Nothing` if none is ready.
    pub(crate) fn take(&self, patient: bool) -> Next {
        let mut state = self.state.lock();
        loop {
            match state.due() {
                Ok(()) => return state.next(),
                Err(_) if !patient => return Next::Nothing,
                Err(None) => self.work.wait(&mut state),
                Err(Some(deadline)) => drop(self.work.wait_until(&mut state, deadline)),
            }
        }
    }

    /// The writer is done with so many jobs more.
    pub(crate) fn pass(&self, jobs: usize) {
        self.state.lock().passed += jobs as u64;
        self.progress.notify_all();
    }

    /// Takes nothing more; the writer does what waits, and ends.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.work.notify_one();
    }

    /// The writer has ended. If it was not asked to, what waits is dropped and its receipts say that the store is closed.
    pub(crate) fn bury(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.dead = true;
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        self.progress.notify_all();
        drop(left);
    }
}
