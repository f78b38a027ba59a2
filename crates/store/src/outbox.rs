//! Callbacks that were not delivered yet: their SQL.

use jackfield_core::{
    id::{CallbackId, TaskId},
    outbox::{CallbackRef, OutboxRow, OutboxState, PER_ORIGIN, Settled},
};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use crate::{
    column::{json, named, size, time, time_text},
    fault::Fault,
};

/// Writes a new callback.
pub(crate) fn insert(conn: &Connection, row: &OutboxRow) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO outbox (id, task, origin, callback, state, attempts, next_at, created_at, last_error)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute((
        row.id.to_string(),
        row.task.to_string(),
        row.callback.origin(),
        serde_json::to_string(&row.callback)?,
        row.state.name(),
        row.attempts,
        time_text(row.next_at),
        time_text(row.created_at),
        &row.last_error,
    ))?;
    Ok(())
}

/// Writes down what became of a try, at this time.
pub(crate) fn settle(
    conn: &Connection,
    id: CallbackId,
    how: &Settled,
    now: Timestamp,
) -> Result<(), Fault> {
    let id = id.to_string();
    let (state, at, error) = match how {
        Settled::Delivered => {
            conn.prepare_cached("DELETE FROM outbox WHERE id = ?")?
                .execute([id])?;
            return Ok(());
        }
        Settled::Retry { at, error } => (OutboxState::Pending, *at, error),
        Settled::Dead { error } => (OutboxState::Dead, now, error),
    };
    let mut statement = conn.prepare_cached(
        "UPDATE outbox SET state = ?, next_at = ?, last_error = ?, attempts = attempts + 1 WHERE id = ?",
    )?;
    statement.execute((state.name(), time_text(at), error, id))?;
    Ok(())
}

/// Makes a dead callback pending again. False if there is none.
pub(crate) fn resend(conn: &Connection, which: CallbackRef, now: Timestamp) -> Result<bool, Fault> {
    let (column, id) = match which {
        CallbackRef::Id(id) => ("id", id.to_string()),
        CallbackRef::Task(id) => ("task", id.to_string()),
    };
    let mut statement = conn.prepare(&format!(
        "UPDATE outbox SET state = 'pending', attempts = 0, next_at = ?1, created_at = ?1
         WHERE {column} = ?2 AND state = 'dead'"
    ))?;
    Ok(statement.execute((time_text(now), id))? > 0)
}

/// Those that may be tried now, oldest first, a few to each destination.
pub(crate) fn due(
    conn: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<OutboxRow>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY origin ORDER BY next_at, id) AS nth
            FROM outbox WHERE state = 'pending' AND next_at <= ?
         ) WHERE nth <= ? ORDER BY next_at, id LIMIT ?",
    )?;
    let rows = statement.query_map((time_text(now), size(PER_ORIGIN), size(limit)), from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the next one that is not due yet will be.
pub(crate) fn next(conn: &Connection, after: Timestamp) -> Result<Option<Timestamp>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT next_at FROM outbox WHERE state = 'pending' AND next_at > ? ORDER BY next_at LIMIT 1",
    )?;
    let mut times = statement.query_map([time_text(after)], |row| time(row, "next_at"))?;
    Ok(times.next().transpose()?)
}

/// Lists them, newest first.
pub(crate) fn list(
    conn: &Connection,
    dead_only: bool,
    limit: usize,
) -> Result<Vec<OutboxRow>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT * FROM outbox WHERE state = 'dead' OR NOT ? ORDER BY id DESC LIMIT ?",
    )?;
    let rows = statement.query_map((dead_only, size(limit)), from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    Ok(OutboxRow {
        id: named(row, "id", CallbackId::parse)?,
        task: named(row, "task", TaskId::parse)?,
        callback: json(row, "callback")?,
        state: named(row, "state", OutboxState::from_name)?,
        attempts: row.get("attempts")?,
        next_at: time(row, "next_at")?,
        created_at: time(row, "created_at")?,
        last_error: row.get("last_error")?,
    })
}
