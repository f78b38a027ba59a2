//! A batch of writes: executes the operations in order, within one transaction of the writer. Mergeable text
//! is joined here, so that the last row of each task's log is written once per batch.

use std::collections::{HashMap, hash_map::Entry};

use jackfield_core::{
    outbox::{NewCallback, Settled},
    store::{AgentRecord, DoorRecord, LogItem, LogRow, RecordKey, TaskRecord, TokenRecord},
};
use jackfield_model::{AgentId, CallbackId, TaskId, TokenId};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::{
    agents,
    column::signed,
    error::DatabaseError,
    outbox, probe,
    queue::ReplySender,
    records,
    tail::{LogTail, TailCache},
    tasks, tokens,
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

/// Changes of a batch to the log of one task.
#[derive(Debug)]
struct LogChanges {
    tail: LogTail,
    /// Growth of the log's bodies in bytes.
    grown: i64,
    /// Whether the task is finished, so that its tail is no longer needed.
    is_final: bool,
}

/// Executes the operations within the caller's transaction and returns the growth of all logs in bytes. On
/// failure the caller rolls back and clears the [`TailCache`].
pub(crate) fn apply<'a>(
    conn: &Connection,
    tails: &mut TailCache,
    ops: impl IntoIterator<Item = &'a WriteOp>,
) -> Result<i64, DatabaseError> {
    let mut batch = Batch {
        conn,
        tails,
        touched: HashMap::new(),
        is_probed: false,
    };
    for op in ops {
        batch.add(op)?;
    }
    batch.finish()
}

struct Batch<'a> {
    conn: &'a Connection,
    tails: &'a mut TailCache,
    touched: HashMap<TaskId, LogChanges>,
    /// Whether a probe ran in this batch. A single probe answers all probes of the batch, so that many
    /// waiting probes cost no more than one.
    is_probed: bool,
}

impl Batch<'_> {
    fn add(&mut self, op: &WriteOp) -> Result<(), DatabaseError> {
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
            WriteOp::SettleCallback { id, how, at } => outbox::settle(self.conn, *id, how, *at),
            WriteOp::DropLane { task, lane } => outbox::drop_lane(self.conn, *task, lane),
            WriteOp::DropCallbacks(tokens) => {
                outbox::remove_for_tokens(self.conn, tokens)?;
                tasks::drop_callbacks(self.conn, tokens)
            }
            WriteOp::SaveTask {
                record, rows, told, ..
            } => {
                tasks::save(self.conn, record)?;
                self.insert_callbacks(told)?;
                if let Some(touched) = self.touched.get_mut(&record.id) {
                    touched.is_final = record.state.is_final();
                }
                if rows.is_empty() {
                    if record.state.is_final() {
                        self.tails.forget(record.id);
                    }
                    return Ok(());
                }
                self.extend(record.id, rows)?.is_final = record.state.is_final();
                Ok(())
            }
            WriteOp::Append { task, rows, told } => {
                self.extend(*task, rows)?;
                self.insert_callbacks(told)
            }
        }
    }

    fn insert_callbacks(&self, told: &[NewCallback]) -> Result<(), DatabaseError> {
        told.iter()
            .try_for_each(|callback| outbox::insert(self.conn, callback))
    }

    fn extend(&mut self, task: TaskId, rows: &[LogRow]) -> Result<&mut LogChanges, DatabaseError> {
        let touched = match self.touched.entry(task) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let tail = match self.tails.take(task) {
                    Some(tail) => tail,
                    None => LogTail::load(self.conn, task)?,
                };
                entry.insert(LogChanges {
                    tail,
                    grown: 0,
                    is_final: false,
                })
            }
        };
        for row in rows {
            touched.grown += touched.tail.push(self.conn, task, row)?;
        }
        Ok(touched)
    }

    fn finish(self) -> Result<i64, DatabaseError> {
        let mut update = self.conn.prepare_cached(
            "UPDATE tasks SET log_end = max(log_end, ?), bytes = bytes + ? WHERE id = ?",
        )?;
        let mut all = 0;
        for (task, mut touched) in self.touched {
            let grown = touched.grown + touched.tail.flush(self.conn, task)?;
            let end = signed(touched.tail.end());
            if update.execute((end, grown, task.to_string()))? == 0 {
                return Err(DatabaseError::NoTask(task));
            }
            all += grown;
            if !touched.is_final {
                self.tails.put(task, touched.tail);
            }
        }
        Ok(all)
    }
}
