//! Removing finished tasks: those that are too old, then as many as it takes for the logs of all that are finished to
//! fit, each time the oldest of the owner whose logs hold most. In between go those that wait too long for their caller's next message.
//! It is done in slices, each a short transaction between two batches, so that nobody waits long for the writer. A task
//! whose log is long loses it from the beginning, over several slices, before it goes itself.

use std::collections::BTreeMap;

use jackfield_core::store::StoreError;
use jackfield_model::TaskId;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    column::{signed, size, time_text, unsigned},
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
    /// Where to go on: what is before it was looked at, and is gone or stays.
    from: Place,
    pass: Pass,
    /// The size of the logs of all that are not finished, when last looked at.
    unfinished: i64,
    /// What the finished tasks of each owner hold; counted once it is known that not all fit.
    owners: Option<BTreeMap<String, Holding>>,
    /// The owner that loses a task now, until it is gone.
    loser: Option<String>,
    removed: usize,
    reply: Reply<usize>,
}

/// The finished tasks of one owner.
#[derive(Debug)]
struct Holding {
    /// The size of their logs.
    bytes: i64,
    /// Where to go on among them.
    from: Place,
}

/// What is being removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Finished tasks that are too old.
    Old,
    /// Those that wait for their next message for too long.
    Waiting,
    /// As many finished ones as do not fit.
    Surplus,
}

/// A place in the order of age, or of ids. The first one is empty.
#[derive(Debug, Default)]
struct Place {
    updated_at: String,
    id: String,
}

impl Place {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            updated_at: row.get("updated_at")?,
            id: row.get("id")?,
        })
    }
}

/// What one slice did.
#[derive(Debug)]
pub(crate) struct Slice {
    /// By how much the logs have shrunk.
    pub(crate) freed: i64,
    /// Whether nothing is left to do.
    pub(crate) done: bool,
}

impl Trim {
    /// Removes tasks that are at rest since before `before`, then the oldest finished ones until the logs of those fit into
    /// `total` bytes.
    pub(crate) fn new(before: Timestamp, total: usize, reply: Reply<usize>) -> Self {
        Self {
            before: time_text(before),
            total: size(total),
            from: Place::default(),
            pass: Pass::Old,
            unfinished: 0,
            owners: None,
            loser: None,
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
        if self.pass == Pass::Surplus {
            self.unfinished = unfinished_bytes(conn)?;
        }
        while freed < SLICE_BYTES && rows < SLICE_ROWS {
            let Some(id) = self.next(conn, total - freed)? else {
                more = false;
                break;
            };
            tails.forget(id);
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
        Ok(Slice { freed, done })
    }

    /// The next task to remove, when all logs have this size.
    fn next(&mut self, conn: &Connection, total: i64) -> Result<Option<TaskId>, Fault> {
        if self.pass == Pass::Old {
            // A task whose callback was given up lately may still be asked for.
            let old = oldest(conn, &self.from, &self.before)?;
            if let Some(place) = old.filter(|place| place.updated_at < self.before) {
                return self.at(place).map(Some);
            }
            (self.pass, self.from) = (Pass::Waiting, Place::default());
        }
        if self.pass == Pass::Waiting {
            if let Some(place) = waiting(conn, &self.from, &self.before)? {
                return self.at(place).map(Some);
            }
            (self.pass, self.from) = (Pass::Surplus, Place::default());
            self.unfinished = unfinished_bytes(conn)?;
        }
        if total - self.unfinished <= self.total {
            return Ok(None);
        }
        self.surplus(conn)
    }

    /// The oldest finished task of the owner whose logs hold most; one that is half removed goes first.
    fn surplus(&mut self, conn: &Connection) -> Result<Option<TaskId>, Fault> {
        let owners = match &mut self.owners {
            Some(owners) => owners,
            none => none.insert(holdings(conn)?),
        };
        loop {
            let most = owners.iter().max_by_key(|(_, holding)| holding.bytes);
            let most = most.filter(|(_, holding)| holding.bytes > 0);
            let loser = self
                .loser
                .take()
                .or_else(|| most.map(|(owner, _)| owner.clone()));
            let Some((owner, holding)) = loser.and_then(|owner| owners.remove_entry(&owner)) else {
                return Ok(None);
            };
            if let Some(place) = oldest_of(conn, &owner, &holding.from)? {
                let id = parse(&place)?;
                let from = place;
                owners.insert(owner.clone(), Holding { from, ..holding });
                self.loser = Some(owner);
                return Ok(Some(id));
            }
            // What it has left may not go.
        }
    }

    /// Takes what was removed off the holding of its owner.
    fn count(&mut self, bytes: i64, is_gone: bool) {
        let loser = self.loser.as_ref().zip(self.owners.as_mut());
        if let Some((loser, owners)) = loser
            && let Some(holding) = owners.get_mut(loser)
        {
            holding.bytes -= bytes;
        }
        if is_gone {
            self.loser = None;
        }
    }

    fn at(&mut self, place: Place) -> Result<TaskId, Fault> {
        let id = parse(&place)?;
        self.from = place;
        Ok(id)
    }
}

fn parse(place: &Place) -> Result<TaskId, Fault> {
    let id = TaskId::parse(&place.id);
    id.ok_or_else(|| Fault::BadId(place.id.clone()))
}

/// What the finished tasks of each owner hold.
fn holdings(conn: &Connection) -> Result<BTreeMap<String, Holding>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT owner, sum(bytes) AS bytes FROM tasks INDEXED BY tasks_finished_by_owner
         WHERE state IN ('completed', 'failed', 'cancelled', 'rejected') GROUP BY owner",
    )?;
    let owners = statement.query_map([], |row| {
        let holding = Holding {
            bytes: row.get("bytes")?,
            from: Place::default(),
        };
        Ok((row.get("owner")?, holding))
    })?;
    Ok(owners.collect::<Result<_, _>>()?)
}

/// The oldest finished task of an owner from a place on, but for those whose callback is pending.
fn oldest_of(conn: &Connection, owner: &str, from: &Place) -> Result<Option<Place>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_finished_by_owner
         WHERE owner = ?1 AND state IN ('completed', 'failed', 'cancelled', 'rejected')
            AND (updated_at, id) >= (?2, ?3)
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id AND outbox.state = 'pending')
         ORDER BY updated_at, id LIMIT 1",
    )?;
    let place = statement.query_row((owner, &from.updated_at, &from.id), Place::from_row);
    Ok(place.optional()?)
}

/// The oldest finished task from a place on, but for those whose callback is pending, or was given up at `since` or later.
fn oldest(conn: &Connection, from: &Place, since: &str) -> Result<Option<Place>, Fault> {
    let mut statement = conn.prepare_cached(
        // By its index, whatever SQLite thinks of the others: this is asked for every task that goes.
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_finished
         WHERE state IN ('completed', 'failed', 'cancelled', 'rejected') AND (updated_at, id) >= (?1, ?2)
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id
                AND (outbox.state = 'pending' OR outbox.next_at >= ?3))
         ORDER BY updated_at, id LIMIT 1",
    )?;
    let place = statement.query_row((&from.updated_at, &from.id, since), Place::from_row);
    Ok(place.optional()?)
}

/// The first task from a place on that waits for its next message since before `before`, but for those whose callback is
/// pending, or was given up since then. In the order of ids, which has an index: each is looked at once in a trim.
fn waiting(conn: &Connection, from: &Place, before: &str) -> Result<Option<Place>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, updated_at FROM tasks INDEXED BY tasks_by_state
         WHERE state IN ('input_required', 'auth_required') AND id >= ?1 AND NOT sent AND updated_at < ?2
            AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id
                AND (outbox.state = 'pending' OR outbox.next_at >= ?2))
         ORDER BY id LIMIT 1",
    )?;
    let place = statement.query_row((&from.id, before), Place::from_row);
    Ok(place.optional()?)
}

/// The size of the logs of all tasks that are not finished: few, and found by their index.
fn unfinished_bytes(conn: &Connection) -> Result<i64, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT coalesce(sum(bytes), 0) FROM tasks INDEXED BY tasks_by_state
         WHERE state IN ('submitted', 'working', 'input_required', 'auth_required')",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
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
