//! SQL of remotes: agents that the hub dials.

use jackfield_core::store::RemoteRecord;
use jackfield_model::{AgentId, Owner};
use rusqlite::{Connection, Row};

use crate::{
    column::{json, parsed, time, time_text},
    error::DatabaseError,
};

/// Inserts or updates a [`RemoteRecord`].
pub(crate) fn save(conn: &Connection, remote: &RemoteRecord) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO remotes (id, owner, door, spec, added_at)
         VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
            owner = excluded.owner, door = excluded.door, spec = excluded.spec, added_at = excluded.added_at",
    )?;
    statement.execute((
        remote.id.as_str(),
        remote.owner.as_str(),
        &remote.door,
        remote.spec.get(),
        time_text(remote.added_at),
    ))?;
    Ok(())
}

/// Removes the remote with the id.
pub(crate) fn remove(conn: &Connection, id: &AgentId) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM remotes WHERE id = ?")?
        .execute([id.as_str()])?;
    Ok(())
}

/// Returns all remotes, sorted by id.
pub(crate) fn load(conn: &Connection) -> Result<Vec<RemoteRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM remotes ORDER BY id")?;
    let remotes = statement.query_map([], from_row)?;
    Ok(remotes.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<RemoteRecord> {
    Ok(RemoteRecord {
        id: parsed(row, "id", AgentId::parse)?,
        owner: parsed(row, "owner", Owner::parse)?,
        door: row.get("door")?,
        spec: json(row, "spec")?,
        added_at: time(row, "added_at")?,
    })
}
