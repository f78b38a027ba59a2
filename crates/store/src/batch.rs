//! A batch of writes: executes the operations in order, within one transaction of the writer. The changes to
//! one task are collected: mergeable text is joined, and the task's row is written once per batch.

use std::collections::BTreeMap;

use jackfield_core::{
    outbox::{NewCallback, Settled},
    store::{AgentRecord, DoorRecord, LogItem, LogRow, RecordKey, TaskRecord, TokenRecord},
};
use jackfield_model::{AgentId, CallbackId, TaskId, TokenId};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::{
    agents,
    cache::{KnownTask, TaskCache},
    error::DatabaseError,
    outbox, probe,
    queue::ReplySender,
    records,
    tail::LogTail,
    tasks::{self, LogGrowth},
    tokens,
};

/// Weight of an operation in the queue besides its text. The number of waiting operations is bounded as well.
const OP_OVERHEAD: usize = 64;

/// A write operation and the sender of its receipt.
#[derive(Debug)]
pub(crate) struct QueuedWrite {
    pub(crate) op: WriteOp,
    pub(crate) reply: ReplySender<()>,
}

/// A write operation.
#[derive(Debug)]
pub(crate) enum WriteOp {
    Probe,
    SaveAgent(Box<AgentRecord>),
    RemoveAgent(AgentId),
    SaveRecords {
        records: Vec<DoorRecord>,
        sync: bool,
    },
    RemoveRecords {
        keys: Vec<RecordKey>,
        sync: bool,
    },
    SaveToken(Box<TokenRecord>),
    RemoveToken(TokenId),
    SaveTask {
        record: Box<TaskRecord>,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
        sync: bool,
    },
    Append {
        task: TaskId,
        rows: Vec<LogRow>,
        told: Vec<NewCallback>,
    },
    SettleCallback {
        id: CallbackId,
        how: Settled,
        at: Timestamp,
    },
    DropLane {
        task: TaskId,
        lane: String,
    },
    DropCallbacks(Vec<TokenId>),
}

impl WriteOp {
    /// Returns whether the operation is acknowledged only after it is synced to disk.
    pub(crate) fn is_durable(&self) -> bool {
        match self {
            Self::SaveAgent(_)
            | Self::RemoveAgent(_)
            | Self::SaveToken(_)
            | Self::RemoveToken(_)
            | Self::SettleCallback { .. }
            | Self::DropLane { .. }
            | Self::DropCallbacks(_) => true,
            Self::SaveTask { sync, .. }
            | Self::SaveRecords { sync, .. }
            | Self::RemoveRecords { sync, .. } => *sync,
            Self::Append { .. } => false,
            // The probe tests whether space is left, not whether the write survives a power cut.
            Self::Probe => false,
        }
    }

    /// Returns the weight of the operation in the queue.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Probe
            | Self::RemoveAgent(_)
            | Self::SaveToken(_)
            | Self::RemoveToken(_)
            | Self::SettleCallback { .. }
            | Self::DropLane { .. }
            | Self::DropCallbacks(_) => OP_OVERHEAD,
            Self::SaveRecords { records, .. } => {
                let values = records.iter();
                let values = values.map(|it| OP_OVERHEAD + it.key.len() + it.value.get().len());
                OP_OVERHEAD + values.sum::<usize>()
            }
            Self::RemoveRecords { keys, .. } => {
                let keys = keys.iter().map(|it| OP_OVERHEAD + it.key.len());
                OP_OVERHEAD + keys.sum::<usize>()
            }
            Self::SaveAgent(record) => {
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                let skills = record.profile.skills.iter();
                let skills = skills.map(|skill| {
                    OP_OVERHEAD + skill.id.len() + text(&skill.name) + text(&skill.description)
                });
                OP_OVERHEAD + text(&record.profile.description) + skills.sum::<usize>()
            }
            Self::Append { rows, told, .. } | Self::SaveTask { rows, told, .. } => {
                let reply = told.iter().flat_map(|callback| &callback.reply);
                let items = rows.iter().map(|row| &row.item).chain(reply);
                OP_OVERHEAD * (1 + told.len()) + weight(items)
            }
        }
    }
}

fn weight<'a>(items: impl Iterator<Item = &'a LogItem>) -> usize {
    items.map(LogItem::weight).sum()
}

/// Changes of a batch to one task. Its row in the table is written once, when all operations are known.
#[derive(Debug)]
struct TaskChanges<'a> {
    known: KnownTask,
    /// The record that was saved last, if any.
    record: Option<&'a TaskRecord>,
    /// Growth of the log's bodies in bytes.
    grown: i64,
    callbacks: Vec<&'a NewCallback>,
}

impl TaskChanges<'_> {
    /// Returns the tail of the task's log, which receives `rows` next.
    fn tail(
        &mut self,
        conn: &Connection,
        task: TaskId,
        rows: &[LogRow],
    ) -> Result<&mut LogTail, DatabaseError> {
        let tail = match self.known.tail.take() {
            Some(tail) => tail,
            // A new task: nothing comes before its first row.
            None if self.record.is_some() && rows.first().is_some_and(|row| row.pos == 0) => {
                LogTail::default()
            }
            None => LogTail::load(conn, task)?,
        };
        Ok(self.known.tail.insert(tail))
    }

    /// Writes the changes. Returns the growth of the log in bytes, and the task for the cache.
    fn write(mut self, conn: &Connection, task: TaskId) -> Result<(i64, KnownTask), DatabaseError> {
        let mut log_end = 0;
        if let Some(tail) = &mut self.known.tail {
            self.grown += tail.flush(conn, task)?;
            log_end = tail.end();
        }
        let log = LogGrowth {
            end: log_end,
            bytes: self.grown,
        };
        match self.record {
            Some(record) => {
                let known = self.known.identity.as_ref();
                self.known.identity = Some(tasks::save(conn, record, log, known)?);
            }
            None => tasks::extend(conn, task, log)?,
        }
        for callback in self.callbacks {
            outbox::insert(conn, callback)?;
        }
        Ok((self.grown, self.known))
    }
}

/// Executes the operations within the caller's transaction and returns the growth of all logs in bytes. On
/// failure the caller rolls back and clears the [`TaskCache`].
pub(crate) fn apply<'a>(
    conn: &Connection,
    cache: &mut TaskCache,
    ops: impl IntoIterator<Item = &'a WriteOp>,
) -> Result<i64, DatabaseError> {
    let mut batch = Batch {
        conn,
        cache,
        changes: BTreeMap::new(),
        grown: 0,
        is_probed: false,
    };
    for op in ops {
        batch.add(op)?;
    }
    batch.write_tasks()?;
    Ok(batch.grown)
}

struct Batch<'a> {
    conn: &'a Connection,
    cache: &'a mut TaskCache,
    /// Changes that are not in the table of tasks yet. In the order of ids, which is that of the table.
    changes: BTreeMap<TaskId, TaskChanges<'a>>,
    /// Growth of all logs in bytes.
    grown: i64,
    /// Whether a probe ran in this batch. A single probe answers all probes of the batch, so that many
    /// waiting probes cost no more than one.
    is_probed: bool,
}

impl<'a> Batch<'a> {
    fn add(&mut self, op: &'a WriteOp) -> Result<(), DatabaseError> {
        match op {
            WriteOp::Probe if std::mem::replace(&mut self.is_probed, true) => Ok(()),
            WriteOp::Probe => probe::run(self.conn),
            WriteOp::SaveAgent(record) => agents::save(self.conn, record),
            WriteOp::RemoveAgent(id) => {
                records::remove_for_agent(self.conn, id)?;
                agents::remove(self.conn, id)
            }
            WriteOp::SaveRecords { records, .. } => records::save(self.conn, records),
            WriteOp::RemoveRecords { keys, .. } => records::remove(self.conn, keys),
            WriteOp::SaveToken(record) => tokens::save(self.conn, record),
            WriteOp::RemoveToken(id) => tokens::remove(self.conn, *id),
            WriteOp::SettleCallback { id, how, at } => {
                self.write_tasks()?;
                outbox::settle(self.conn, *id, how, *at)
            }
            WriteOp::DropLane { task, lane } => {
                self.write_tasks()?;
                outbox::drop_lane(self.conn, *task, lane)
            }
            WriteOp::DropCallbacks(tokens) => {
                self.write_tasks()?;
                // The statement below changes tasks behind the cache.
                self.cache.clear();
                outbox::remove_for_tokens(self.conn, tokens)?;
                tasks::drop_callbacks(self.conn, tokens)
            }
            WriteOp::SaveTask {
                record, rows, told, ..
            } => {
                self.changes_of(record.id).record = Some(record);
                self.extend(record.id, rows, told)
            }
            WriteOp::Append { task, rows, told } => self.extend(*task, rows, told),
        }
    }

    fn changes_of(&mut self, task: TaskId) -> &mut TaskChanges<'a> {
        self.changes.entry(task).or_insert_with(|| TaskChanges {
            known: self.cache.take(task),
            record: None,
            grown: 0,
            callbacks: Vec::new(),
        })
    }

    fn extend(
        &mut self,
        task: TaskId,
        rows: &[LogRow],
        told: &'a [NewCallback],
    ) -> Result<(), DatabaseError> {
        let conn = self.conn;
        let changes = self.changes_of(task);
        changes.callbacks.extend(told);
        if rows.is_empty() {
            return Ok(());
        }
        let tail = changes.tail(conn, task, rows)?;
        let mut grown = 0;
        for row in rows {
            grown += tail.push(conn, task, row)?;
        }
        changes.grown += grown;
        Ok(())
    }

    /// Writes the pending changes to the table of tasks and their callbacks.
    fn write_tasks(&mut self) -> Result<(), DatabaseError> {
        for (task, changes) in std::mem::take(&mut self.changes) {
            let is_final = changes.record.is_some_and(|record| record.state.is_final());
            let (grown, known) = changes.write(self.conn, task)?;
            self.grown += grown;
            if !is_final {
                self.cache.put(task, known);
            }
        }
        Ok(())
    }
}
