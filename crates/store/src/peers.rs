//! SQL of peers of the p2p door.

use jackfield_core::store::PeerRecord;
use rusqlite::{Connection, Row};

use crate::{
    column::{optional_time, time_text},
    error::DatabaseError,
};

/// Inserts or updates a [`PeerRecord`].
pub(crate) fn save(conn: &Connection, peer: &PeerRecord) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO peers (id, address, is_blocked, seen_at)
         VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
            address = excluded.address, is_blocked = excluded.is_blocked, seen_at = excluded.seen_at",
    )?;
    statement.execute((
        &peer.id,
        &peer.address,
        peer.is_blocked,
        peer.seen_at.map(time_text),
    ))?;
    Ok(())
}

/// Removes the peer with the id.
pub(crate) fn remove(conn: &Connection, id: &str) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM peers WHERE id = ?")?
        .execute([id])?;
    Ok(())
}

/// Returns all peers, sorted by id.
pub(crate) fn load(conn: &Connection) -> Result<Vec<PeerRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM peers ORDER BY id")?;
    let peers = statement.query_map([], from_row)?;
    Ok(peers.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<PeerRecord> {
    Ok(PeerRecord {
        id: row.get("id")?,
        address: row.get("address")?,
        is_blocked: row.get("is_blocked")?,
        seen_at: optional_time(row, "seen_at")?,
    })
}
