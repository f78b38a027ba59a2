//! The single thread that writes. It commits waiting writes in batches, and sends receipts only after the
//! commit. Between batches it trims, a slice at a time, and makes checkpoints.

use std::{collections::VecDeque, io, sync::Arc, thread};

use jackfield_core::store::{StoreError, TaskRecord};
use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

#[cfg(test)]
use crate::commit_hook::CommitPoint;
use crate::{
    batch::{self, QueuedWrite, WriteOp},
    cache::TaskCache,
    checkpoint::Checkpoints,
    error::DatabaseError,
    outbox,
    queue::{WriteQueue, WriterJob, WriterWork},
    tasks,
    trim::{self, Trim},
};

#[derive(Debug)]
struct WriterThread {
    conn: Connection,
    queue: Arc<WriteQueue>,
    cache: TaskCache,
    /// Size of all logs together, in bytes; `None` until a trim needs it. See [`WriterThread::measure`].
    total: Option<i64>,
    checkpoints: Checkpoints,
    /// Trims to do; the first is in progress.
    trims: VecDeque<Trim>,
    /// Whether commits wait for the disk, as last set; `None` at first.
    synced: Option<bool>,
    /// Whether the last transaction failed. A failing database is logged once, not with every batch.
    failing: bool,
}

/// Starts the writer thread, which ends when the [`WriteQueue`] is closed and empty.
pub(crate) fn start(
    mut conn: Connection,
    queue: Arc<WriteQueue>,
) -> Result<thread::JoinHandle<()>, WriterStartError> {
    let checkpoints = Checkpoints::take_over(&mut conn)?;
    let writer = WriterThread {
        conn,
        queue,
        cache: TaskCache::default(),
        total: None,
        checkpoints,
        trims: VecDeque::new(),
        synced: None,
        failing: false,
    };
    Ok(thread::Builder::new()
        .name("store-writer".to_owned())
        .spawn(move || writer.run())?)
}

/// Error while starting the writer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriterStartError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Thread(#[from] io::Error),
}

impl Drop for WriterThread {
    // Runs also after a panic, so that no reader waits forever.
    fn drop(&mut self) {
        self.queue.mark_dead();
    }
}

impl WriterThread {
    fn run(mut self) {
        loop {
            match self.queue.take(self.trims.is_empty()) {
                WriterWork::Batch(writes) => {
                    let count = writes.len();
                    self.write(writes);
                    self.queue.mark_completed(count);
                }
                WriterWork::Alone(WriterJob::Reopen(reply)) => {
                    // The caller may have stopped waiting.
                    let result = self.reopen();
                    drop(reply.send(self.report(result)));
                    self.queue.mark_completed(1);
                }
                WriterWork::Alone(WriterJob::Resend(task, reply)) => {
                    let now = Timestamp::now();
                    let result = self.transact(true, |conn, _| outbox::resend(conn, task, now));
                    drop(reply.send(self.report(result)));
                    self.queue.mark_completed(1);
                }
                WriterWork::Alone(WriterJob::Trim(trim)) => {
                    self.trims.push_back(trim);
                    self.queue.mark_completed(1);
                }
                WriterWork::Alone(WriterJob::Write(write)) => {
                    self.write(vec![write]);
                    self.queue.mark_completed(1);
                }
                WriterWork::Nothing => {}
                WriterWork::Closed => return,
            }
            self.trim_a_slice();
            self.checkpoint_if_due();
        }
    }

    /// Commits a batch, then sends the receipts. If a single write is invalid, each write is committed alone,
    /// so that the other writes succeed.
    fn write(&mut self, writes: Vec<QueuedWrite>) {
        let result = self.commit(writes.iter().map(|write| &write.op));
        match result {
            Err(fault) if writes.len() > 1 && fault.is_invalid_operation() => {
                tracing::debug!(%fault, "a batch failed; its writes are tried one by one");
                for write in writes {
                    let result = self.commit([&write.op]);
                    let result = self.report(result);
                    drop(write.reply.send(result));
                }
            }
            result => {
                let result = self.report(result);
                for write in writes {
                    drop(write.reply.send(result.clone()));
                }
            }
        }
    }

    fn commit<'a>(
        &mut self,
        ops: impl IntoIterator<Item = &'a WriteOp> + Clone,
    ) -> Result<(), DatabaseError> {
        let sync = ops.clone().into_iter().any(WriteOp::is_durable);
        let result = self.transact(sync, |conn, cache| batch::apply(conn, cache, ops));
        match result {
            Ok(grown) => self.total = self.total.map(|total| total + grown),
            Err(_) => self.cache.clear(),
        }
        result.map(drop)
    }

    /// Runs `work` in a transaction. With `sync`, the transaction is on disk when the function returns.
    fn transact<T>(
        &mut self,
        sync: bool,
        work: impl FnOnce(&Connection, &mut TaskCache) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        if self.synced != Some(sync) {
            // The pragma cannot change within a transaction.
            self.conn
                .pragma_update(None, "synchronous", if sync { "full" } else { "normal" })?;
            self.synced = Some(sync);
        }
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&tx, &mut self.cache)?;
        #[cfg(test)]
        self.queue.commit_hook.reach(CommitPoint::Before);
        tx.commit()?;
        #[cfg(test)]
        self.queue.commit_hook.reach(CommitPoint::After);
        Ok(result)
    }

    fn reopen(&mut self) -> Result<Vec<TaskRecord>, DatabaseError> {
        self.cache.clear();
        self.transact(true, |conn, _| tasks::reopen(conn))
    }

    fn trim_a_slice(&mut self) {
        let Some(mut trim) = self.trims.pop_front() else {
            return;
        };
        let result = self.measure(&trim);
        let result = result
            .and_then(|total| self.transact(false, |conn, cache| trim.slice(conn, cache, total)));
        match self.report(result) {
            Ok(slice) => {
                self.total = self.total.map(|total| total - slice.freed);
                if slice.done {
                    trim.finish(Ok(()))
                } else {
                    self.trims.push_front(trim)
                }
            }
            Err(error) => trim.finish(Err(error)),
        }
    }

    /// Returns the size of all logs, or any larger number that is within the limit of the trim. The sum is over all
    /// tasks, finished ones too. It is made once, and only if the database itself is larger than the limit: a hub with
    /// many finished tasks starts as quickly as an empty one.
    fn measure(&mut self, trim: &Trim) -> Result<i64, DatabaseError> {
        if let Some(total) = self.total {
            return Ok(total);
        }
        let size = trim::database_size(&self.conn)?;
        if trim.has_room_for(size) {
            return Ok(size);
        }
        let total = trim::sum_of_logs(&self.conn)?;
        self.total = Some(total);
        Ok(total)
    }

    fn checkpoint_if_due(&mut self) {
        if self.checkpoints.is_due() {
            #[cfg(test)]
            self.queue.commit_hook.reach(CommitPoint::Checkpoint);
            self.checkpoints.run(&self.conn);
        }
    }

    /// Converts the result for the receipts, and logs a change between failing and working once.
    fn report<T>(&mut self, result: Result<T, DatabaseError>) -> Result<T, StoreError> {
        match &result {
            Ok(_) if self.failing => {
                self.failing = false;
                tracing::info!("the store can write again");
            }
            Err(fault) if fault.is_invalid_operation() => {
                tracing::debug!(%fault, "a write was refused")
            }
            Err(fault) if !self.failing => {
                self.failing = true;
                tracing::error!(%fault, "the store cannot write");
            }
            Ok(_) | Err(_) => {}
        }
        result.map_err(StoreError::from)
    }
}
