//! Jackfield's SQLite store. The database `jackfield.db` in a data directory holds tokens, profiles,
//! records of doors, tasks, their event log and their callbacks. The hub's own secrets are files
//! beside the database, see [`secrets`].
//!
//! The path of a write: [`SqliteStore`] puts the write into `queue.rs`. The thread of `writer.rs` takes all
//! waiting writes as one batch, `batch.rs` executes the batch (`tail.rs` joins text, `cache.rs` saves reads), and
//! after the commit each caller gets its [`Receipt`]. A read goes to one of the threads of `reader.rs`, which
//! have connections of their own: one for reads by a key, one for lists.

mod agents;
mod backup;
mod batch;
mod cache;
mod check;
mod checkpoint;
mod column;
#[cfg(test)]
mod commit_hook;
mod error;
mod log;
mod open;
mod outbox;
mod probe;
mod queue;
mod reader;
mod records;
mod schema;
pub mod secrets;
mod tail;
mod tasks;
mod tokens;
mod trim;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use jackfield_core::{
    outbox::{NewCallback, OutboxRow, Settled},
    store::{
        AgentRecord, CallbackFilter, DoorRecord, LogItem, LogRow, Receipt, RecordKey, Reopened,
        Store, TaskFilter, TaskRecord, TokenRecord,
    },
};
use jackfield_model::{AgentId, CallbackId, TaskId, TokenId};
use jiff::Timestamp;
use parking_lot::Mutex;

pub use crate::{
    backup::{BackupError, backup_file},
    check::{CheckError, DatabaseCounts, DatabaseRefusal, DatabaseReport, check},
    open::StoreOpenError,
};
use crate::{
    batch::{QueuedWrite, WriteOp},
    open::{DirLock, OpenDataDir},
    queue::{WriteQueue, WriterJob},
    reader::{ReadRequest, Readers},
    trim::Trim,
    writer::WriterStartError,
};

/// The SQLite store of a hub, in a data directory of its own; implements [`Store`]. Dropping the store closes
/// it.
#[derive(Debug)]
pub struct SqliteStore {
    data_dir: PathBuf,
    queue: Arc<WriteQueue>,
    readers: Readers,
    /// The writer thread and the directory lock; `None` after [`SqliteStore::close`].
    running: Mutex<Option<RunningWriter>>,
}

#[derive(Debug)]
struct RunningWriter {
    writer: thread::JoinHandle<()>,
    /// Prevents other hubs from using the directory.
    lock: DirLock,
}

impl SqliteStore {
    /// Opens the store in `data_dir`, and creates the directory if it does not exist. Blocks; a migration may
    /// take long.
    pub fn open(data_dir: &Path) -> Result<Self, StoreOpenError> {
        Self::start(data_dir, open::open(data_dir)?)
    }

    fn start(data_dir: &Path, opened: OpenDataDir) -> Result<Self, StoreOpenError> {
        let sqlite = |source| StoreOpenError::Sqlite {
            path: opened.path.clone(),
            source,
        };
        let no_thread = |source: io::Error| StoreOpenError::Unusable {
            path: opened.path.clone(),
            source,
        };
        let queue = Arc::new(WriteQueue::default());
        let readers = Readers::start(opened.readers, &queue).map_err(no_thread)?;
        let writer = writer::start(opened.writer, queue.clone()).map_err(|error| match error {
            WriterStartError::Sqlite(error) => sqlite(error),
            WriterStartError::Thread(error) => no_thread(error),
        })?;
        let running = Mutex::new(Some(RunningWriter {
            writer,
            lock: opened.lock,
        }));
        Ok(Self {
            data_dir: data_dir.to_owned(),
            queue,
            readers,
            running,
        })
    }

    /// Copies the database to the new file `to`, including all writes queued before this call. Blocks until
    /// the copy is complete. See [`backup_file`] for a copy without a running store.
    pub fn backup(&self, to: &Path) -> Result<(), BackupError> {
        // If the writer has ended, all that can be saved is on disk already.
        self.queue.wait_until_completed(self.queue.make_urgent());
        backup_file(&self.data_dir, to)
    }

    /// Executes all queued writes, answers all queued reads, and ends all threads. Blocks until the threads
    /// have ended. Later requests fail with
    /// [`StoreError::Closed`](jackfield_core::store::StoreError::Closed); a running trim is aborted.
    pub fn close(&self) {
        // Held to the end, so that a concurrent `close` waits as well.
        let mut running = self.running.lock();
        let Some(RunningWriter { writer, lock }) = running.take() else {
            return;
        };
        // The writer's connection closes last, because the last connection removes the write-ahead log.
        self.readers.close();
        self.queue.close();
        if writer.join().is_err() {
            tracing::error!("the store's writer had panicked");
        }
        lock.release();
    }

    fn write(&self, op: WriteOp) -> Receipt {
        let (reply, receipt) = Receipt::pair();
        self.queue.push(WriterJob::Write(QueuedWrite { op, reply }));
        receipt
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for SqliteStore {
    fn probe(&self) -> Receipt {
        self.write(WriteOp::Probe)
    }

    fn load_agents(&self) -> Receipt<Vec<AgentRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Agents(reply));
        receipt
    }

    fn save_agent(&self, record: AgentRecord) -> Receipt {
        self.write(WriteOp::SaveAgent(Box::new(record)))
    }

    fn remove_agent(&self, id: AgentId) -> Receipt {
        self.write(WriteOp::RemoveAgent(id))
    }

    fn load_records(&self, door: &str) -> Receipt<Vec<DoorRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.readers
            .request(ReadRequest::Records(door.to_owned(), reply));
        receipt
    }

    fn save_records(&self, records: Vec<DoorRecord>, sync: bool) -> Receipt {
        self.write(WriteOp::SaveRecords { records, sync })
    }

    fn remove_records(&self, keys: Vec<RecordKey>, sync: bool) -> Receipt {
        self.write(WriteOp::RemoveRecords { keys, sync })
    }

    fn load_tokens(&self) -> Receipt<Vec<TokenRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Tokens(reply));
        receipt
    }

    fn save_token(&self, record: TokenRecord) -> Receipt {
        self.write(WriteOp::SaveToken(Box::new(record)))
    }

    fn remove_token(&self, id: TokenId) -> Receipt {
        self.write(WriteOp::RemoveToken(id))
    }

    fn reopen_tasks(&self) -> Receipt<Vec<TaskRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.queue.push(WriterJob::Reopen(reply));
        receipt
    }

    fn read_turn(&self, record: TaskRecord) -> Receipt<Reopened> {
        let (reply, receipt) = Receipt::pair();
        self.readers
            .request(ReadRequest::Turn(Box::new(record), reply));
        receipt
    }

    fn save_task(
        &self,
        record: TaskRecord,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        sync: bool,
    ) -> Receipt {
        self.write(WriteOp::SaveTask {
            record: Box::new(record),
            rows,
            told,
            sync,
        })
    }

    fn append(&self, task: TaskId, rows: Vec<LogRow>, told: Vec<NewCallback>) -> Receipt {
        self.write(WriteOp::Append { task, rows, told })
    }

    fn commit_appends(&self) {
        self.queue.make_urgent();
    }

    fn find_task(&self, id: TaskId) -> Receipt<Option<TaskRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Task(id, reply));
        receipt
    }

    fn list_tasks(&self, filter: TaskFilter) -> Receipt<Vec<TaskRecord>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Tasks(filter, reply));
        receipt
    }

    fn count_tasks(&self, filter: TaskFilter) -> Receipt<usize> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::CountTasks(filter, reply));
        receipt
    }

    fn read_log(&self, task: TaskId, from: u64, max: usize) -> Receipt<Vec<LogRow>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Log {
            task,
            from,
            max,
            reply,
        });
        receipt
    }

    fn trim(&self, before: Timestamp, total: usize) -> Receipt<usize> {
        let (reply, receipt) = Receipt::pair();
        self.queue
            .push(WriterJob::Trim(Trim::new(before, total, reply)));
        receipt
    }

    fn due_callbacks(&self, now: Timestamp, limit: usize) -> Receipt<Vec<OutboxRow>> {
        let (reply, receipt) = Receipt::pair();
        self.readers
            .request(ReadRequest::DueCallbacks { now, limit, reply });
        receipt
    }

    fn next_callback(&self, after: Timestamp) -> Receipt<Option<Timestamp>> {
        let (reply, receipt) = Receipt::pair();
        self.readers
            .request(ReadRequest::NextCallback(after, reply));
        receipt
    }

    fn settle_callback(&self, id: CallbackId, how: Settled) -> Receipt {
        let at = Timestamp::now();
        self.write(WriteOp::SettleCallback { id, how, at })
    }

    fn callback_reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::CallbackReply(id, reply));
        receipt
    }

    fn list_callbacks(&self, filter: CallbackFilter) -> Receipt<Vec<OutboxRow>> {
        let (reply, receipt) = Receipt::pair();
        self.readers.request(ReadRequest::Callbacks(filter, reply));
        receipt
    }

    fn resend_callbacks(&self, task: TaskId) -> Receipt<bool> {
        let (reply, receipt) = Receipt::pair();
        self.queue.push(WriterJob::Resend(task, reply));
        receipt
    }

    fn drop_lane(&self, task: TaskId, lane: String) -> Receipt {
        self.write(WriteOp::DropLane { task, lane })
    }

    fn drop_callbacks(&self, tokens: Vec<TokenId>) -> Receipt {
        self.write(WriteOp::DropCallbacks(tokens))
    }
}

#[cfg(test)]
mod tests;
