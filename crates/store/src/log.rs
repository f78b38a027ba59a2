//! SQL of the event log. A row is a message, an event, an answer or an end. A row of text may hold many
//! chunks, joined by `tail.rs`: `pos` and `at` then belong to the first chunk and `seq` to the last.

use jackfield_core::store::{LogItem, LogRow};
use jackfield_model::{Chunk, TaskId};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use crate::{
    column::{signed, size, time, time_text, unsigned},
    error::DatabaseError,
};

/// A [`LogRow`] without its item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogRowHead {
    pub(crate) pos: u64,
    pub(crate) seq: Option<u64>,
    pub(crate) at: Timestamp,
}

impl LogRowHead {
    pub(crate) fn of(row: &LogRow) -> Self {
        let LogRow { pos, seq, at, .. } = *row;
        Self { pos, seq, at }
    }
}

fn insert_body(
    conn: &Connection,
    task: TaskId,
    head: LogRowHead,
    kind: &str,
    body: &str,
) -> Result<i64, DatabaseError> {
    let LogRowHead { pos, seq, at } = head;
    let mut statement = conn.prepare_cached(
        "INSERT INTO log (task, pos, seq, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    let (task, at) = (task.to_string(), time_text(at));
    statement.execute((task, signed(pos), seq.map(signed), at, kind, body))?;
    Ok(size(body.len()))
}

/// Inserts a row and returns the size of its body.
pub(crate) fn insert(conn: &Connection, task: TaskId, row: &LogRow) -> Result<i64, DatabaseError> {
    let (kind, body) = row.item.to_row()?;
    insert_body(conn, task, LogRowHead::of(row), kind, &body)
}

/// Inserts a row of text and returns the size of its body.
pub(crate) fn insert_chunk(
    conn: &Connection,
    task: TaskId,
    head: LogRowHead,
    chunk: &Chunk,
) -> Result<i64, DatabaseError> {
    insert_body(conn, task, head, CHUNK, &serde_json::to_string(chunk)?)
}

/// Updates a row of text that has grown and returns the size of its body. The time of the first piece stays.
pub(crate) fn update_chunk(
    conn: &Connection,
    task: TaskId,
    head: LogRowHead,
    chunk: &Chunk,
) -> Result<i64, DatabaseError> {
    let body = serde_json::to_string(chunk)?;
    let mut statement =
        conn.prepare_cached("UPDATE log SET seq = ?, body = ? WHERE task = ? AND pos = ?")?;
    let seq = head.seq.map(signed);
    statement.execute((seq, &body, task.to_string(), signed(head.pos)))?;
    Ok(size(body.len()))
}

/// Kind of rows with chunks, the same as in [`LogItem::to_row`].
const CHUNK: &str = "chunk";

/// Returns a row and the size of its body.
fn from_row(row: &Row<'_>, task: TaskId) -> Result<(LogRow, usize), DatabaseError> {
    let pos = unsigned(row, "pos")?;
    let seq = row.get::<_, Option<i64>>("seq")?.map(i64::cast_unsigned);
    let kind = row
        .get_ref("kind")?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    let body = row
        .get_ref("body")?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    let item = LogItem::from_row(kind, body).map_err(|source| DatabaseError::Unreadable {
        task,
        pos,
        source,
    })?;
    let at = time(row, "at")?;
    Ok((LogRow { pos, seq, at, item }, body.len()))
}

/// Returns the last row of a task's log and the size of its body.
pub(crate) fn last(
    conn: &Connection,
    task: TaskId,
) -> Result<Option<(LogRow, i64)>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT pos, seq, at, kind, body FROM log WHERE task = ? ORDER BY pos DESC LIMIT 1",
    )?;
    let mut rows = statement.query([task.to_string()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let (row, bytes) = from_row(row, task)?;
    Ok(Some((row, size(bytes))))
}

/// Returns the end position of a task's log, computed from its last row.
pub(crate) fn end(conn: &Connection, task: TaskId) -> Result<u64, DatabaseError> {
    Ok(last(conn, task)?.map_or(0, |(row, _)| row.pos + row.item.advance()))
}

/// Returns the rows that determine the state of a task's last turn, in order: the message, questions,
/// answers, and the last row with a sequence number of the agent.
pub(crate) fn last_turn_rows(
    conn: &Connection,
    task: TaskId,
) -> Result<Vec<LogRow>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT pos, seq, at, kind, body FROM log
         WHERE task = ?1
            AND pos >= coalesce((SELECT max(pos) FROM log WHERE task = ?1 AND kind = 'message'), 0)
            AND (kind IN ('message', 'ask', 'answer') OR pos =
                (SELECT pos FROM log WHERE task = ?1 AND seq IS NOT NULL ORDER BY pos DESC LIMIT 1))
         ORDER BY pos",
    )?;
    let mut rows = statement.query([task.to_string()])?;
    let mut landmarks = Vec::new();
    while let Some(row) = rows.next()? {
        landmarks.push(from_row(row, task)?.0);
    }
    Ok(landmarks)
}

/// Reads a task's log from the row that contains `from`: at least one row, if any exists, then as many as fit
/// into `max` bytes.
pub(crate) fn read(
    conn: &Connection,
    task: TaskId,
    from: u64,
    max: usize,
) -> Result<Vec<LogRow>, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "SELECT pos, seq, at, kind, body FROM log
         WHERE task = ?1 AND pos >= coalesce((SELECT max(pos) FROM log WHERE task = ?1 AND pos <= ?2), 0)
         ORDER BY pos",
    )?;
    // A cursor beyond SQLite's integers is beyond every log.
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let mut rows = statement.query((task.to_string(), from))?;
    let mut read = Vec::new();
    let mut sum = 0;
    while let Some(row) = rows.next()? {
        let (row, bytes) = from_row(row, task)?;
        // Only the first row can end before `from`, because the query starts with the last row at or before
        // `from`.
        if signed(row.pos + row.item.advance()) <= from {
            continue;
        }
        sum += bytes;
        if !read.is_empty() && sum > max {
            break;
        }
        read.push(row);
    }
    Ok(read)
}
