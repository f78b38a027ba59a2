//! The threads that read, on connections of their own, so that reads do not wait behind batches.
//!
//! There are two lanes, each with one thread and one connection. Reads by a key, such as a page of a log, take a bounded
//! time; whoever follows a task waits for them. Lists may look at every task, and go through the other lane, so that
//! they hold up nobody but other lists. A pool would not do: as many lists as it has threads hold up all other reads.
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

/// Maximum number of waiting reads in each lane. A caller waits for each read, and each answer is bounded by itself.
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
    /// Returns whether the read may look at any number of rows.
    fn is_list(&self) -> bool {
        match self {
            // A key belongs to few tasks, and has an index. A call with a key waits for this list.
            Self::Tasks(filter, _) => filter.once.is_none(),
            Self::Agents(_)
            | Self::Records(..)
            | Self::Tokens(_)
            | Self::CountTasks(..)
            | Self::Callbacks(..)
            // These look at all callbacks that are pending.
            | Self::DueCallbacks { .. }
            | Self::NextCallback(..) => true,
            Self::Task(..) | Self::Turn(..) | Self::Log { .. } | Self::CallbackReply(..) => false,
        }
    }

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

/// The connections of the reading threads.
#[derive(Debug)]
pub(crate) struct ReaderConnections {
    pub(crate) by_key: Connection,
    pub(crate) lists: Connection,
}

/// The store's handle to the reading threads.
#[derive(Debug)]
pub(crate) struct Readers {
    by_key: ReadLane,
    lists: ReadLane,
}

impl Readers {
    /// Starts the reading threads.
    pub(crate) fn start(
        connections: ReaderConnections,
        queue: &Arc<WriteQueue>,
    ) -> io::Result<Self> {
        let ReaderConnections { by_key, lists } = connections;
        Ok(Self {
            by_key: ReadLane::start("store-reader", by_key, queue.clone())?,
            lists: ReadLane::start("store-lists", lists, queue.clone())?,
        })
    }

    /// Queues a [`ReadRequest`], or refuses the read at once.
    pub(crate) fn request(&self, read: ReadRequest) {
        if read.is_list() {
            self.lists.request(read);
        } else {
            self.by_key.request(read);
        }
    }

    /// Answers all queued reads, and ends the threads.
    pub(crate) fn close(&self) {
        self.by_key.close();
        self.lists.close();
    }
}

/// A read with its ticket. Boxed, since the channel allocates room for [`MAX_READS`] of them when it is made.
type QueuedRead = (u64, Box<ReadRequest>);

/// A reading thread, and its queue.
#[derive(Debug)]
struct ReadLane {
    queue: Arc<WriteQueue>,
    /// Channel to the thread; `None` after [`ReadLane::close`].
    reads: Mutex<Option<SyncSender<QueuedRead>>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl ReadLane {
    fn start(name: &str, conn: Connection, queue: Arc<WriteQueue>) -> io::Result<Self> {
        let (tx, rx) = sync_channel(MAX_READS);
        let theirs = queue.clone();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&conn, &theirs, &rx))?;
        Ok(Self {
            queue,
            reads: Mutex::new(Some(tx)),
            thread: Mutex::new(Some(thread)),
        })
    }

    fn request(&self, read: ReadRequest) {
        let ticket = self.queue.make_urgent();
        let reads = self.reads.lock();
        let Some(tx) = &*reads else {
            return read.refuse(StoreError::Closed);
        };
        match tx.try_send((ticket, Box::new(read))) {
            Ok(()) => {}
            Err(TrySendError::Full((_, read))) => {
                read.refuse(StoreError::Failed(format!(
                    "it is overloaded: {MAX_READS} reads wait"
                )));
            }
            Err(TrySendError::Disconnected((_, read))) => read.refuse(StoreError::Closed),
        }
    }

    fn close(&self) {
        drop(self.reads.lock().take());
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the store's reader had panicked");
        }
    }
}

fn run(conn: &Connection, queue: &WriteQueue, reads: &Receiver<QueuedRead>) {
    while let Ok((ticket, read)) = reads.recv() {
        if queue.wait_until_completed(ticket) {
            read.answer(conn)
        } else {
            read.refuse(StoreError::Closed)
        }
    }
}
