//! SQL of the outbox: callbacks that are not delivered yet.

use jackfield_core::{
    outbox::{NewCallback, OutboxRow, OutboxState, PER_ORIGIN, Settled},
    store::{CallbackFilter, LogItem},
};
use jackfield_model::{CallbackId, TaskId, TokenId};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use crate::{
    column::{json, optional_json, parsed_name, signed, size, time, time_text},
    error::DatabaseError,
    tasks::ownership_condition,
};

/// Columns read of a callback, without the reply, which may be as large as a message.
const COLUMNS: &str =
    "outbox.id, outbox.task, outbox.callback, outbox.state, outbox.attempts, outbox.next_at,
                       outbox.created_at, outbox.last_error, outbox.lane, outbox.pos";

/// Condition for pending callbacks that are the first pending callback of their lane.
const NEXT: &str = "outbox.state = 'pending' AND (outbox.lane IS NULL OR NOT EXISTS (
                    SELECT 1 FROM outbox AS earlier
                    WHERE earlier.lane = outbox.lane AND earlier.state = 'pending' AND earlier.id < outbox.id))";

/// Inserts a [`NewCallback`].
pub(crate) fn insert(conn: &Connection, callback: &NewCallback) -> Result<(), DatabaseError> {
    let NewCallback { row, reply } = callback;
    let reply: Vec<_> = reply
        .iter()
        .map(LogItem::to_row)
        .collect::<Result<_, _>>()?;
    let reply = (!reply.is_empty()).then(|| serde_json::to_string(&reply));
    let mut statement = conn.prepare_cached(
        "INSERT INTO outbox (id, task, origin, callback, state, attempts, next_at, created_at, last_error, reply,
                             lane, pos)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        reply.transpose()?,
        &row.lane,
        row.pos.map(signed),
    ))?;
    Ok(())
}

/// Saves the result of a delivery attempt at the time `now`.
pub(crate) fn settle(
    conn: &Connection,
    id: CallbackId,
    how: &Settled,
    now: Timestamp,
) -> Result<(), DatabaseError> {
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

/// Makes the dead callbacks of a task pending again. Returns false if the task has none.
pub(crate) fn resend(
    conn: &Connection,
    task: TaskId,
    now: Timestamp,
) -> Result<bool, DatabaseError> {
    let mut statement = conn.prepare_cached(
        "UPDATE outbox SET state = 'pending', attempts = 0, next_at = ?1, created_at = ?1
         WHERE task = ?2 AND state = 'dead'",
    )?;
    Ok(statement.execute((time_text(now), task.to_string()))? > 0)
}

/// Removes the callbacks in a lane of a task.
pub(crate) fn drop_lane(conn: &Connection, task: TaskId, lane: &str) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached("DELETE FROM outbox WHERE task = ? AND lane = ?")?;
    statement.execute((task.to_string(), lane))?;
    Ok(())
}

/// Removes the callbacks that the given tokens registered.
pub(crate) fn remove_for_tokens(
    conn: &Connection,
    tokens: &[TokenId],
) -> Result<(), DatabaseError> {
    let mut statement =
        conn.prepare_cached("DELETE FROM outbox WHERE json_extract(callback, '$.token') = ?")?;
    for token in tokens {
        statement.execute([token.to_string()])?;
    }
    Ok(())
}

/// Returns the reply stored with a callback.
pub(crate) fn reply(conn: &Connection, id: CallbackId) -> Result<Vec<LogItem>, DatabaseError> {
    let mut statement = conn.prepare_cached("SELECT reply FROM outbox WHERE id = ?")?;
    let found = statement.query_row([id.to_string()], |row| {
        optional_json::<Vec<(String, String)>>(row, "reply")
    });
    let rows = found.optional()?.flatten().unwrap_or_default();
    let items = rows
        .iter()
        .map(|(kind, body)| LogItem::from_row(kind, body));
    Ok(items.collect::<Result<_, _>>()?)
}

/// Returns the callbacks that may be tried now, oldest first: at most [`PER_ORIGIN`] per destination and one
/// per lane.
pub(crate) fn due(
    conn: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<OutboxRow>, DatabaseError> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT * FROM (
            SELECT {COLUMNS}, row_number() OVER (PARTITION BY origin ORDER BY next_at, id) AS nth
            FROM outbox WHERE {NEXT} AND next_at <= ?
         ) WHERE nth <= ? ORDER BY next_at, id LIMIT ?"
    ))?;
    let rows = statement.query_map((time_text(now), size(PER_ORIGIN), size(limit)), from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the time at which the next callback becomes due, after `after`.
pub(crate) fn next(
    conn: &Connection,
    after: Timestamp,
) -> Result<Option<Timestamp>, DatabaseError> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT next_at FROM outbox WHERE {NEXT} AND next_at > ? ORDER BY next_at LIMIT 1"
    ))?;
    let mut times = statement.query_map([time_text(after)], |row| time(row, "next_at"))?;
    Ok(times.next().transpose()?)
}

/// Returns the callbacks that match the [`CallbackFilter`], newest first.
pub(crate) fn list(
    conn: &Connection,
    filter: &CallbackFilter,
) -> Result<Vec<OutboxRow>, DatabaseError> {
    let (theirs, keys) = ownership_condition(&filter.whose);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM outbox JOIN tasks ON tasks.id = outbox.task
         WHERE {theirs} AND (outbox.state = 'dead' OR NOT ?) ORDER BY outbox.id DESC LIMIT ?"
    ))?;
    let keys = keys.into_iter().map(|key| Value::from(key.to_owned()));
    let rest = [filter.dead_only.into(), size(filter.limit).into()];
    let values = rusqlite::params_from_iter(keys.chain(rest));
    let rows = statement.query_map(values, from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    Ok(OutboxRow {
        id: parsed_name(row, "id", CallbackId::parse)?,
        task: parsed_name(row, "task", TaskId::parse)?,
        callback: json(row, "callback")?,
        state: parsed_name(row, "state", OutboxState::from_name)?,
        attempts: row.get("attempts")?,
        next_at: time(row, "next_at")?,
        created_at: time(row, "created_at")?,
        last_error: row.get("last_error")?,
        lane: row.get("lane")?,
        pos: row.get::<_, Option<i64>>("pos")?.map(i64::cast_unsigned),
    })
}
