//! The thread that reads, on a connection of its own, so that reads do not wait behind batches.
//!
//! A read sees all writes queued before it. The read carries the last ticket at the time of its request and
//! waits until the writer has completed this ticket. The request makes the waiting writes urgent, so that the
//! read does not wait 20 ms. Without pending writes a read does not wait.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use jackfield_core::{
    outbox::OutboxRow,
    store::{
        AgentRecord, CallbackFilter, DoorRecord, LogItem, LogRow, Reopened, StoreError, TaskFilter,
        TaskRecord, TokenRecord,
    },
};
use jackfield_model::{CallbackId, TaskId};
use jiff::Timestamp;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{
    agents,
    error::DatabaseError,
    log, outbox,
    queue::{ReplySender, WriteQueue},
    records, tasks, tokens,
};

/// Maximum number of waiting reads. A caller waits for each read, and each answer is bounded by itself.
const MAX_READS: usize = 1 << 14;

/// A read operation with the sender of its result.
#[derive(Debug)]
pub(crate) enum ReadRequest {
    Agents(ReplySender<Vec<AgentRecord>>),
    Records(String, ReplySender<Vec<DoorRecord>>),
    Tokens(ReplySender<Vec<TokenRecord>>),
    Task(TaskId, ReplySender<Option<TaskRecord>>),
    Turn(Box<TaskRecord>, ReplySender<Reopened>),
    Tasks(TaskFilter, ReplySender<Vec<TaskRecord>>),
    CountTasks(TaskFilter, ReplySender<usize>),
    Log {
        task: TaskId,
        from: u64,
        max: usize,
        reply: ReplySender<Vec<LogRow>>,
    },
    DueCallbacks {
        now: Timestamp,
        limit: usize,
        reply: ReplySender<Vec<OutboxRow>>,
    },
    NextCallback(Timestamp, ReplySender<Option<Timestamp>>),
    Callbacks(CallbackFilter, ReplySender<Vec<OutboxRow>>),
    CallbackReply(CallbackId, ReplySender<Vec<LogItem>>),
}

impl ReadRequest {
    fn answer(self, conn: &Connection) {
        match self {
            Self::Agents(reply) => send(reply, || agents::load(conn)),
            Self::Records(door, reply) => send(reply, || records::load(conn, &door)),
            Self::Tokens(reply) => send(reply, || tokens::load(conn)),
            Self::Task(id, reply) => send(reply, || tasks::find(conn, id)),
            Self::Turn(record, reply) => send(reply, || tasks::last_turn(conn, *record)),
            Self::Tasks(filter, reply) => send(reply, || tasks::list(conn, &filter)),
            Self::CountTasks(filter, reply) => send(reply, || tasks::count(conn, &filter)),
            Self::Log {
                task,
                from,
                max,
                reply,
            } => send(reply, || log::read(conn, task, from, max)),
            Self::DueCallbacks { now, limit, reply } => {
                send(reply, || outbox::due(conn, now, limit))
            }
            Self::NextCallback(after, reply) => send(reply, || outbox::next(conn, after)),
            Self::Callbacks(filter, reply) => send(reply, || outbox::list(conn, &filter)),
            Self::CallbackReply(id, reply) => send(reply, || outbox::reply(conn, id)),
        }
    }

    fn refuse(self, error: StoreError) {
        // The caller may have stopped waiting.
        match self {
            Self::Agents(reply) => drop(reply.send(Err(error))),
            Self::Records(_, reply) => drop(reply.send(Err(error))),
            Self::Tokens(reply) => drop(reply.send(Err(error))),
            Self::Task(_, reply) => drop(reply.send(Err(error))),
            Self::Turn(_, reply) => drop(reply.send(Err(error))),
            Self::Tasks(_, reply) => drop(reply.send(Err(error))),
            Self::CountTasks(_, reply) => drop(reply.send(Err(error))),
            Self::Log { reply, .. } => drop(reply.send(Err(error))),
            Self::DueCallbacks { reply, .. } | Self::Callbacks(_, reply) => {
                drop(reply.send(Err(error)));
            }
            Self::CallbackReply(_, reply) => drop(reply.send(Err(error))),
            Self::NextCallback(_, reply) => drop(reply.send(Err(error))),
        }
    }
}

/// Executes the read and sends the result, unless the caller has stopped waiting.
fn send<T>(reply: ReplySender<T>, read: impl FnOnce() -> Result<T, DatabaseError>) {
    if reply.is_closed() {
        return;
    }
    let result = read().map_err(|fault| {
        tracing::error!(%fault, "the store cannot read");
        StoreError::from(fault)
    });
    drop(reply.send(result));
}

/// The store's handle to the reading thread.
#[derive(Debug)]
pub(crate) struct ReaderHandle {
    queue: Arc<WriteQueue>,
    /// Channel to the thread; `None` after [`ReaderHandle::close`].
    reads: Mutex<Option<SyncSender<(u64, ReadRequest)>>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl ReaderHandle {
    /// Starts the reading thread.
    pub(crate) fn start(conn: Connection, queue: Arc<WriteQueue>) -> io::Result<Self> {
        let (tx, rx) = sync_channel(MAX_READS);
        let theirs = queue.clone();
        let thread = thread::Builder::new()
            .name("store-reader".to_owned())
            .spawn(move || run(&conn, &theirs, &rx))?;
        Ok(Self {
            queue,
            reads: Mutex::new(Some(tx)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Queues a [`ReadRequest`], or refuses the read at once.
    pub(crate) fn request(&self, read: ReadRequest) {
        let ticket = self.queue.make_urgent();
        let reads = self.reads.lock();
        let Some(tx) = &*reads else {
            return read.refuse(StoreError::Closed);
        };
        match tx.try_send((ticket, read)) {
            Ok(()) => {}
            Err(TrySendError::Full((_, read))) => {
                read.refuse(StoreError::Failed(format!(
                    "it is overloaded: {MAX_READS} reads wait"
                )));
            }
            Err(TrySendError::Disconnected((_, read))) => read.refuse(StoreError::Closed),
        }
    }

    /// Answers all queued reads, and ends the thread.
    pub(crate) fn close(&self) {
        drop(self.reads.lock().take());
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the store's reader had panicked");
        }
    }
}

fn run(conn: &Connection, queue: &WriteQueue, reads: &Receiver<(u64, ReadRequest)>) {
    while let Ok((ticket, read)) = reads.recv() {
        if queue.wait_until_completed(ticket) {
            read.answer(conn)
        } else {
            read.refuse(StoreError::Closed)
        }
    }
}
