//! Removing finished tasks, the oldest first: those that are too old, then as many as it takes for all logs to fit.
//! It is done in slices, each a short transaction between two batches, so that nobody waits long for the writer. A task
//! whose log is long loses it from the beginning, over several slices, before it goes itself.

use jackfield_core::{id::TaskId, store::StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    column::{named, signed, size, time_text, unsigned},
    fault::Fault,
    queue::Reply,
    tail::Tails,
};

/// How much of the logs one slice removes: a few milliseconds' work.
const SLICE_BYTES: i64 = 1 << 20;
/// How many rows one slice removes, however small they are.
const SLICE_ROWS: usize = 512;
/// How many pages one slice gives back to the file system; twice what it frees in bytes.
const SLICE_PAGES: i64 = 512;
/// How many free pages stay in the file, to be used again.
const FREE_PAGES: i64 = 1024;

/// A trim under way.
#[derive(Debug)]
pub(crate) struct Trim {
    before: String,
    total: i64,
    removed: usize,
    reply: Reply<usize>,
}

/// What one slice did.
#[derive(Debug)]
pub(crate) struct Slice {
    /// By how much the logs have shrunk.
    pub(crate) freed: i64,
    /// Whether nothing is left to do.
    pub(crate) done: bool,
}

struct Oldest {
    id: TaskId,
    updated_at: String,
}

impl Trim {
    /// Removes tasks that ended before `before`, then the oldest until all logs fit into `total` bytes.
    pub(crate) fn new(before: Timestamp, total: usize, reply: Reply<usize>) -> Self {
        Self {
            before: time_text(before),
            total: size(total),
            removed: 0,
            reply,
        }
    }

    /// Tells how many tasks were removed, or why it went wrong.
    pub(crate) fn finish(self, result: Result<(), StoreError>) {
        // Whoever asked may be gone.
        drop(self.reply.send(result.map(|()| self.removed)));
    }

    /// Removes a slice, within the caller's transaction. `total` is the size of all logs now.
    pub(crate) fn slice(
        &mut self,
        conn: &Connection,
        tails: &mut Tails,
        total: i64,
    ) -> Result<Slice, Fault> {
        let mut rows = 0;
        let mut freed = 0;
        let mut more = true;
        while freed < SLICE_BYTES && rows < SLICE_ROWS {
            let victim = oldest(conn)?
                .filter(|task| task.updated_at < self.before || total - freed > self.total);
            let Some(Oldest { id, .. }) = victim else {
                more = false;
                break;
            };
            tails.forget(id);
            let removed = remove_rows(conn, id, SLICE_ROWS - rows, SLICE_BYTES - freed)?;
            rows += removed.rows + 1;
            freed += removed.bytes;
            if removed.all {
                freed += remove_task(conn, id)?;
                self.removed += 1;
            }
        }
        let done = vacuum(conn)? && !more;
        Ok(Slice { freed, done })
    }
}

fn oldest(conn: &Connection) -> Result<Option<Oldest>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, updated_at FROM tasks WHERE state IN ('completed', 'failed', 'cancelled', 'rejected')
         ORDER BY updated_at, id LIMIT 1",
    )?;
    let from_row = |row: &Row<'_>| {
        Ok(Oldest {
            id: named(row, "id", TaskId::parse)?,
            updated_at: row.get("updated_at")?,
        })
    };
    Ok(statement.query_row([], from_row).optional()?)
}

struct Removed {
    rows: usize,
    bytes: i64,
    all: bool,
}

/// Removes the first rows of a log, and takes them off the task's bytes.
fn remove_rows(
    conn: &Connection,
    task: TaskId,
    max_rows: usize,
    max_bytes: i64,
) -> Result<Removed, Fault> {
    let id = task.to_string();
    let mut measure = conn.prepare_cached(
        "SELECT pos, octet_length(body) AS bytes FROM log WHERE task = ? ORDER BY pos",
    )?;
    let mut found = measure.query([&id])?;
    let mut removed = Removed {
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

/// Removes a task whose log is gone, and returns what it still counted as its bytes.
fn remove_task(conn: &Connection, task: TaskId) -> Result<i64, Fault> {
    let mut statement = conn.prepare_cached("DELETE FROM tasks WHERE id = ? RETURNING bytes")?;
    Ok(statement.query_row([task.to_string()], |row| row.get(0))?)
}

/// Gives pages back to the file system, and says whether enough of them have been.
fn vacuum(conn: &Connection) -> Result<bool, Fault> {
    let count = || conn.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let free = count()?;
    let surplus = (free - FREE_PAGES).clamp(0, SLICE_PAGES);
    if surplus > 0 {
        // Frees a page per step, hence to the end; `execute_batch` would take one step only.
        let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({surplus})"))?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
    }
    let left = count()?;
    // A database that was not made by us may keep its free pages.
    Ok(left <= FREE_PAGES || left >= free)
}
