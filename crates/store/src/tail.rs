//! The ends of logs: where the next row goes, and the last row while text may still be joined to it. Kept in memory
//! for the tasks that were last written to, so that an append need not read; anything forgotten is read again.

use std::collections::HashMap;

use jackfield_core::store::{LogItem, LogRow};
use jackfield_model::{Chunk, Event, TaskId};
use rusqlite::Connection;

use crate::{
    fault::Fault,
    log::{self, Head},
};

/// A row of text is written with up to this size.
const ROW_BYTES: usize = 16 << 10;
/// A row on disk grows up to this size. Each batch that adds to it writes its pages anew, so that a row that grew to
/// 16 KiB by a model's words would cost five times the disk writes of one that grows to 1 KiB (and so would a new row
/// per batch, by its pages of the index).
const GROWN_BYTES: usize = 1 << 10;
/// How much of the ends of logs is kept in memory, twice: see [`Tails`].
const KEPT_BYTES: usize = 4 << 20;
/// What a tail weighs besides its text.
const TAIL_OVERHEAD: usize = 256;

/// A row of text that may grow.
#[derive(Debug)]
struct Growing {
    head: Head,
    chunk: Chunk,
    /// The size of its body on disk, if it is there.
    stored: Option<i64>,
    /// Whether it says more than the disk does.
    dirty: bool,
}

impl Growing {
    fn limit(&self) -> usize {
        if self.stored.is_some() {
            GROWN_BYTES
        } else {
            ROW_BYTES
        }
    }
}

/// The end of one task's log.
#[derive(Debug)]
pub(crate) struct Tail {
    end: u64,
    last: Option<Growing>,
}

impl Tail {
    /// Reads it from the database.
    pub(crate) fn load(conn: &Connection, task: TaskId) -> Result<Self, Fault> {
        let Some((row, stored)) = log::last(conn, task)? else {
            // An empty log, if there is such a task.
            let mut exists =
                conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?)")?;
            let exists = exists.query_row([task.to_string()], |row| row.get(0))?;
            return if exists {
                Ok(Self { end: 0, last: None })
            } else {
                Err(Fault::NoTask(task))
            };
        };
        let (head, end) = (Head::of(&row), row.pos + row.item.advance());
        let last = match row.item {
            LogItem::Event(Event::Chunk(chunk)) if can_grow(&chunk) => Some(Growing {
                head,
                chunk,
                stored: Some(stored),
                dirty: false,
            }),
            _ => None,
        };
        Ok(Self { end, last })
    }

    /// One past the last position.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    fn weight(&self) -> usize {
        TAIL_OVERHEAD + self.last.as_ref().map_or(0, |last| last.chunk.text.len())
    }

    /// Adds a row, by joining it to the last one if they are of one piece. Returns by how much the log's bodies on disk
    /// have grown, without what [`Tail::flush`] has yet to write.
    pub(crate) fn push(
        &mut self,
        conn: &Connection,
        task: TaskId,
        row: &LogRow,
    ) -> Result<i64, Fault> {
        if row.pos < self.end {
            return Err(Fault::Written { task, pos: row.pos });
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
            && last.chunk.joins(chunk)
            && last.chunk.text.len() + chunk.text.len() <= last.limit()
        {
            last.chunk.text.push_str(&chunk.text);
            last.head.seq = row.seq.or(last.head.seq);
            last.dirty = true;
            return Ok(0);
        }
        let grown = self.flush(conn, task)?;
        self.last = Some(Growing {
            head: Head::of(row),
            chunk: chunk.clone(),
            stored: None,
            dirty: true,
        });
        Ok(grown)
    }

    /// Writes the last row if it is not on disk as it is here. Returns by how much the log's bodies have grown.
    pub(crate) fn flush(&mut self, conn: &Connection, task: TaskId) -> Result<i64, Fault> {
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

/// Whether text may be joined to it. A chunk without text takes one position, which a joined row could not show.
fn can_grow(chunk: &Chunk) -> bool {
    !chunk.text.is_empty() && chunk.text.len() < ROW_BYTES && chunk.joins(chunk)
}

/// The tails of the tasks last written to. Two generations: when the young one is full it becomes the old one, and
/// what was in the old one, not used since, is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    young: HashMap<TaskId, Tail>,
    old: HashMap<TaskId, Tail>,
    /// The weight of the young ones.
    bytes: usize,
}

impl Tails {
    /// Takes out the tail of a task, if it is known.
    pub(crate) fn take(&mut self, task: TaskId) -> Option<Tail> {
        match self.young.remove(&task) {
            Some(tail) => {
                self.bytes -= tail.weight();
                Some(tail)
            }
            None => self.old.remove(&task),
        }
    }

    /// Keeps a tail, as it is on disk.
    pub(crate) fn put(&mut self, task: TaskId, tail: Tail) {
        self.bytes += tail.weight();
        self.young.insert(task, tail);
        if self.bytes > KEPT_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
    }

    /// Forgets the tail of a task.
    pub(crate) fn forget(&mut self, task: TaskId) {
        drop(self.take(task));
    }

    /// Forgets everything: what was rolled back is not on disk.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
