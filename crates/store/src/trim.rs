//! Removal of old tasks, in three passes:
//!
//! 1. Finished tasks that are too old.
//! 2. Tasks that have waited too long for the caller's next message.
//! 3. Surplus finished tasks, until the logs of all finished tasks fit into the limit: each time the oldest
//!    task of the owner with the largest logs.
//!
//! A trim works in slices, each a short transaction between two batches, so that no caller waits long for the
//! writer. A task with a long log loses the log from the beginning, over several slices, before the task
//! itself is removed.

use std::collections::BTreeMap;

use jackfield_core::store::StoreError;
use jackfield_model::TaskId;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    cache::TaskCache,
    column::{signed, size, time_text, unsigned},
    error::DatabaseError,
    queue::ReplySender,
};

/// Bytes of logs that a slice removes: a few milliseconds of work.
const SLICE_BYTES: i64 = 1 << 20;
/// Maximum number of rows that a slice removes, however small they are.
const SLICE_ROWS: usize = 512;
/// Maximum number of pages that a slice returns to the file system; twice the bytes that a slice frees.
const SLICE_PAGES: i64 = 512;
/// Number of free pages that stay in the file for reuse.
const FREE_PAGES: i64 = 1024;

/// A trim in progress.
#[derive(Debug)]
pub(crate) struct Trim {
    before: String,
    total: i64,
    /// Cursor of the current pass. Earlier tasks were examined already.
    from: TrimCursor,
    pass: TrimPass,
    /// Size of the logs of all unfinished tasks, as last measured.
    unfinished: i64,
    /// Finished tasks by owner; counted once the logs are known to exceed the limit.
    owners: Option<BTreeMap<String, OwnerUsage>>,
    /// Owner that currently loses a task, until the task is removed.
    shrinking_owner: Option<String>,
    removed: usize,
    reply: ReplySender<usize>,
}

/// The finished tasks of an owner.
#[derive(Debug)]
struct OwnerUsage {
    /// Size of their logs in bytes.
    bytes: i64,
    /// Cursor among the tasks of the owner.
    from: TrimCursor,
}

/// A pass of the trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrimPass {
    /// Removes finished tasks that are too old.
    Old,
    /// Removes tasks that have waited too long for their next message.
    Waiting,
    /// Removes finished tasks over the size limit.
    Surplus,
}

/// Cursor in the order of age, or of ids. The default is the start.
#[derive(Debug, Default)]
struct TrimCursor {
    updated_at: String,
    id: String,
}

impl TrimCursor {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            updated_at: row.get("updated_at")?,
            id: row.get("id")?,
        })
    }
}

/// Result of one slice.
#[derive(Debug)]
pub(crate) struct TrimSlice {
    /// Bytes removed from the logs.
    pub(crate) freed: i64,
    /// Whether the trim is complete.
    pub(crate) done: bool,
}

impl Trim {
    /// Creates a trim that removes tasks at rest since before `before`, then the oldest finished tasks until
    /// the logs of finished tasks fit into `total` bytes.
    pub(crate) fn new(before: Timestamp, total: usize, reply: ReplySender<usize>) -> Self {
        Self {
            before: time_text(before),
            total: size(total),
            from: TrimCursor::default(),
            pass: TrimPass::Old,
            unfinished: 0,
            owners: None,
            shrinking_owner: None,
            removed: 0,
            reply,
        }
    }

    /// Sends the number of removed tasks, or the error, to the caller.
    pub(crate) fn finish(self, result: Result<(), StoreError>) {
        // The caller may have stopped waiting.
        drop(self.reply.send(result.map(|()| self.removed)));
    }

    /// Returns whether logs of this size need not be trimmed.
    pub(crate) fn has_room_for(&self, size: i64) -> bool {
        size <= self.total
    }

    /// Removes a slice, within the caller's transaction. `total` is the current size of all logs, or larger if there is
    /// [room for it](Self::has_room_for).
    pub(crate) fn slice(
        &mut self,
        conn: &Connection,
        cache: &mut TaskCache,
        total: i64,
    ) -> Result<TrimSlice, DatabaseError> {
        let mut rows = 0;
        let mut freed = 0;
        let mut more = true;
        if self.pass == TrimPass::Surplus {
            self.unfinished = unfinished_bytes(conn)?;
        }
        while freed < SLICE_BYTES && rows < SLICE_ROWS {
            let Some(id) = self.next(conn, total - freed)? else {
                more = false;
                break;
            };
            cache.forget(id);
            let removed = remove_rows(conn, id, SLICE_ROWS - rows, SLICE_BYTES - freed)?;
            rows += removed.rows + 1;
            let mut bytes = removed.bytes;
            if removed.all {
                bytes += remove_task(conn, id)?;
                self.removed += 1;
            }
            freed += bytes;
            self.count(bytes, removed.all);
        }
        let done = vacuum(conn)? && !more;
        Ok(TrimSlice { freed, done })
    }

    /// Returns the next task to remove. `total` is the current size of all logs.
    fn next(&mut self, conn: &Connection, total: i64) -> Result<Option<TaskId>, DatabaseError> {
        if self.pass == TrimPass::Old {
            // A task with a recently given-up callback is kept, because the operator may resend the callback.
            let old = oldest(conn, &self.from, &self.before)?;
            if let Some(place) = old.filter(|place| place.updated_at < self.before) {
                return self.advance_to(place).map(Some);
            }
            (self.pass, self.from) = (TrimPass::Waiting, TrimCursor::default());
        }
        if self.pass == TrimPass::Waiting {
            if let Some(place) = waiting(conn, &self.from, &self.before)? {
                return self.advance_to(place).map(Some);
            }
            (self.pass, self.from) = (TrimPass::Surplus, TrimCursor::default());
            self.unfinished = unfinished_bytes(conn)?;
        }
        if total - self.unfinished <= self.total {
            return Ok(None);
        }
        self.surplus(conn)
    }

    /// Returns the oldest finished task of the owner with the largest logs. A partly removed task comes
    /// first.
    fn surplus(&mut self, conn: &Connection) -> Result<Option<TaskId>, DatabaseError> {
        let owners = match &mut self.owners {
            Some(owners) => owners,
            none => none.insert(usage_by_owner(conn)?),
        };
        loop {
            let most = owners.iter().max_by_key(|(_, holding)| holding.bytes);
            let most = most.filter(|(_, holding)| holding.bytes > 0);
            let loser = self
                .shrinking_owner
                .take()
                .or_else(|| most.map(|(owner, _)| owner.clone()));
            let Some((owner, holding)) = loser.and_then(|owner| owners.remove_entry(&owner)) else {
                return Ok(None);
            };
            if let Some(place) = oldest_of(conn, &owner, &holding.from)? {
                let id = parse(&place)?;
                let from = place;
                owners.insert(owner.clone(), OwnerUsage { from, ..holding });
                self.shrinking_owner = Some(owner);
                return Ok(Some(id));
            }
            // The remaining tasks of this owner cannot be removed; continue with the next owner.
        }
    }

    /// Subtracts removed bytes from the [`OwnerUsage`] of the current owner.
    fn count(&mut self, bytes: i64, is_gone: bool) {
        let loser = self.shrinking_owner.as_ref().zip(self.owners.as_mut());
        if let Some((loser, owners)) = loser
            && let Some(holding) = owners.get_mut(loser)
        {
            holding.bytes -= bytes;
        }
        if is_gone {
            self.shrinking_owner = None;
        }
    }

    fn advance_to(&mut self, place: TrimCursor) -> Result<TaskId, DatabaseError> {
        let id = parse(&place)?;
        self.from = place;
        Ok(id)
    }
}

fn parse(place: &TrimCursor) -> Result<TaskId, DatabaseError> {
    let id = TaskId::parse(&place.id);
    id.ok_or_else(|| DatabaseError::BadId(place.id.clone()))
}

/// Returns the [`OwnerUsage`] of each owner.
fn usage_by_owner(conn: &Connection) -> Result<BTreeMap<String, OwnerUsage>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT owner, sum(bytes) AS bytes FROM tasks INDEXED BY tasks_finished_by_owner
         WHERE is_final = 1 GROUP BY owner",
    )?;
    let owners = statement.query_map([], |row| {
        let holding = OwnerUsage {
            bytes: row.get("bytes")?,
            from: TrimCursor::default(),
        };
        Ok((row.get("owner")?, holding))
    })?;
    Ok(owners.collect::<Result<_, _>>()?)
}

/// Returns the oldest finished task of `owner` at or after the cursor `from`, except tasks with a pending
/// callback.
fn oldest_of(
    conn: &Connection,
    owner: &str,
    from: &TrimCursor,
) -> Result<Option<TrimCursor>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_finished_by_owner
         WHERE owner = ?1 AND is_final = 1
            AND (updated_at, id) >= (?2, ?3)
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id AND outbox.state = 'pending')
         ORDER BY updated_at, id LIMIT 1",
    )?;
    let place = statement.query_row((owner, &from.updated_at, &from.id), TrimCursor::from_row);
    Ok(place.optional()?)
}

/// Returns the oldest finished task at or after the cursor `from`, except tasks with a callback that is
/// pending or was given up at `since` or later.
fn oldest(
    conn: &Connection,
    from: &TrimCursor,
    since: &str,
) -> Result<Option<TrimCursor>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        // Forces the index whatever SQLite estimates, because this query runs for every removed task.
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_finished
         WHERE is_final = 1 AND (updated_at, id) >= (?1, ?2)
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id
                AND (outbox.state = 'pending' OR outbox.next_at >= ?3))
         ORDER BY updated_at, id LIMIT 1",
    )?;
    let place = statement.query_row((&from.updated_at, &from.id, since), TrimCursor::from_row);
    Ok(place.optional()?)
}

/// Returns the first task at or after the cursor `from` that has waited for its next message since before
/// `before`, except tasks with a callback that is pending or was given up since then. The order is by id,
/// which has an index: each task is examined once per trim.
fn waiting(
    conn: &Connection,
    from: &TrimCursor,
    before: &str,
) -> Result<Option<TrimCursor>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_by_state
         WHERE state IN ('input_required', 'auth_required') AND id >= ?1 AND NOT sent AND updated_at < ?2
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id
                AND (outbox.state = 'pending' OR outbox.next_at >= ?2))
         ORDER BY id LIMIT 1",
    )?;
    let place = statement.query_row((&from.id, before), TrimCursor::from_row);
    Ok(place.optional()?)
}

/// Returns the size of the logs of all unfinished tasks, which are few and found by their index.
fn unfinished_bytes(conn: &Connection) -> Result<i64, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT coalesce(sum(bytes), 0) FROM tasks INDEXED BY tasks_by_state
         WHERE state IN ('submitted', 'working', 'input_required', 'auth_required')",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Returns the size of all logs. Reads every task.
pub(crate) fn sum_of_logs(conn: &Connection) -> Result<i64, DatabaseError> {
    let sql = "SELECT coalesce(sum(bytes), 0) FROM tasks";
    Ok(conn.query_row(sql, [], |row| row.get(0))?)
}

/// Returns the size of the database without its free pages. It has all logs, and is never smaller than they are.
pub(crate) fn database_size(conn: &Connection) -> Result<i64, DatabaseError> {
    let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(pages * pragma("page_size")?)
}

struct RemovedRows {
    rows: usize,
    bytes: i64,
    all: bool,
}

/// Removes the first rows of a log, and subtracts their size from the task's bytes.
fn remove_rows(
    conn: &Connection,
    task: TaskId,
    max_rows: usize,
    max_bytes: i64,
) -> Result<RemovedRows, DatabaseError> {
    let id = task.to_string();
    let mut measure = conn.prepare_cached(
        "SELECT pos, octet_length(body) AS bytes FROM log WHERE task = ? ORDER BY pos",
    )?;
    let mut found = measure.query([&id])?;
    let mut removed = RemovedRows {
        rows: 0,
        bytes: 0,
        all: false,
    };
    let mut last = None;
    while removed.rows < max_rows && removed.bytes < max_bytes {
        let Some(row) = found.next()? else {
            removed.all = true;
            break;
        };
        last = Some(unsigned(row, "pos")?);
        removed.rows += 1;
        removed.bytes += row.get::<_, i64>("bytes")?;
    }
    drop(found);
    if let Some(last) = last {
        conn.prepare_cached("DELETE FROM log WHERE task = ? AND pos <= ?")?
            .execute((&id, signed(last)))?;
        conn.prepare_cached("UPDATE tasks SET bytes = bytes - ? WHERE id = ?")?
            .execute((removed.bytes, &id))?;
    }
    Ok(removed)
}

/// Removes a task without log rows, and returns the bytes that the task still counted.
fn remove_task(conn: &Connection, task: TaskId) -> Result<i64, DatabaseError> {
    let mut statement = conn.prepare_cached("DELETE FROM tasks WHERE id = ? RETURNING bytes")?;
    Ok(statement.query_row([task.to_string()], |row| row.get(0))?)
}

/// Returns free pages to the file system, and returns whether few enough remain.
fn vacuum(conn: &Connection) -> Result<bool, DatabaseError> {
    let count = || conn.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let free = count()?;
    let surplus = (free - FREE_PAGES).clamp(0, SLICE_PAGES);
    if surplus > 0 {
        // Each step frees one page, so all rows must be read; `execute_batch` would take one step only.
        let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({surplus})"))?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
    }
    let left = count()?;
    // A database that another program created may keep its free pages.
    Ok(left <= FREE_PAGES || left >= free)
}
