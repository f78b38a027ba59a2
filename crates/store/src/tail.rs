//! Tails of logs: the position of the next row, and the last row while more text may be joined to it.

use jackfield_core::store::{LogItem, LogRow};
use jackfield_model::{Chunk, Event, TaskId};
use rusqlite::Connection;

use crate::{
    error::DatabaseError,
    log::{self, LogRowHead},
};

/// Maximum text size of a row at its first write.
const ROW_BYTES: usize = 16 << 10;
/// Maximum size to which a row on disk may grow. Each batch that adds text writes the pages of the row again.
/// A row that grows word by word to 16 KiB would cost five times the disk writes of a row that grows to 1
/// KiB. A new row per batch would cost the same, by its pages of the index.
const GROWN_BYTES: usize = 1 << 10;

/// A row of text that may grow.
#[derive(Debug)]
struct GrowingRow {
    head: LogRowHead,
    chunk: Chunk,
    /// Size of the body on disk; `None` if the row is not on disk yet.
    stored: Option<i64>,
    /// Whether the row differs from the row on disk.
    dirty: bool,
}

impl GrowingRow {
    fn limit(&self) -> usize {
        if self.stored.is_some() {
            GROWN_BYTES
        } else {
            ROW_BYTES
        }
    }
}

/// The tail of a task's log; empty by default.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    end: u64,
    last: Option<GrowingRow>,
}

impl LogTail {
    /// Reads the tail from the database.
    pub(crate) fn load(conn: &Connection, task: TaskId) -> Result<Self, DatabaseError> {
        let Some((row, stored)) = log::last(conn, task)? else {
            // The log is empty, or the task does not exist.
            let mut exists =
                conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?)")?;
            let exists = exists.query_row([task.to_string()], |row| row.get(0))?;
            return if exists {
                Ok(Self::default())
            } else {
                Err(DatabaseError::NoTask(task))
            };
        };
        let (head, end) = (LogRowHead::of(&row), row.pos + row.item.advance());
        let last = match row.item {
            LogItem::Event(Event::Chunk(chunk)) if can_grow(&chunk) => Some(GrowingRow {
                head,
                chunk,
                stored: Some(stored),
                dirty: false,
            }),
            _ => None,
        };
        Ok(Self { end, last })
    }

    /// Returns the position after the last row.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the size of the text that the tail holds.
    pub(crate) fn text_len(&self) -> usize {
        self.last.as_ref().map_or(0, |last| last.chunk.text.len())
    }

    /// Adds a [`LogRow`], joined to the last row where possible. Returns the growth of the log's bodies on
    /// disk, without the part that [`LogTail::flush`] has yet to write.
    pub(crate) fn push(
        &mut self,
        conn: &Connection,
        task: TaskId,
        row: &LogRow,
    ) -> Result<i64, DatabaseError> {
        if row.pos < self.end {
            return Err(DatabaseError::Written { task, pos: row.pos });
        }
        let adjacent = row.pos == self.end;
        self.end = row.pos.saturating_add(row.item.advance());
        let chunk = match &row.item {
            LogItem::Event(Event::Chunk(chunk)) if can_grow(chunk) => chunk,
            _ => {
                let grown = self.flush(conn, task)?;
                self.last = None;
                return Ok(grown + log::insert(conn, task, row)?);
            }
        };
        if let Some(last) = &mut self.last
            && adjacent
            && last.chunk.can_merge(chunk)
            && last.chunk.text.len() + chunk.text.len() <= last.limit()
        {
            last.chunk.text.push_str(&chunk.text);
            last.head.seq = row.seq.or(last.head.seq);
            last.dirty = true;
            return Ok(0);
        }
        let grown = self.flush(conn, task)?;
        self.last = Some(GrowingRow {
            head: LogRowHead::of(row),
            chunk: chunk.clone(),
            stored: None,
            dirty: true,
        });
        Ok(grown)
    }

    /// Writes the last row if it differs from the row on disk. Returns the growth of the log's bodies.
    pub(crate) fn flush(&mut self, conn: &Connection, task: TaskId) -> Result<i64, DatabaseError> {
        let Some(last) = self.last.as_mut().filter(|last| last.dirty) else {
            return Ok(0);
        };
        let stored = match last.stored {
            None => log::insert_chunk(conn, task, last.head, &last.chunk)?,
            Some(_) => log::update_chunk(conn, task, last.head, &last.chunk)?,
        };
        let grown = stored - last.stored.unwrap_or(0);
        last.stored = Some(stored);
        last.dirty = false;
        Ok(grown)
    }
}

/// Returns whether text may be joined to the chunk. A chunk without text takes one position, which a joined
/// row could not represent.
fn can_grow(chunk: &Chunk) -> bool {
    !chunk.text.is_empty() && chunk.text.len() < ROW_BYTES && chunk.can_merge(chunk)
}
