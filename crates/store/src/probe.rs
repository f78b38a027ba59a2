//! Test whether the database is writable. A row larger than a page is inserted and removed within one
//! transaction, so that both new pages and the write-ahead log are tested.

use rusqlite::Connection;

use crate::error::DatabaseError;

/// Size of the row: more than one page, so that the row takes pages of its own.
const BYTES: i64 = 8 << 10;
/// Owner of the row. No door has this name, so that no door ever loads or loses a record by the probe.
const DOOR: &str = "";

/// Inserts and removes the row, within the caller's transaction.
pub(crate) fn run(conn: &Connection) -> Result<(), DatabaseError> {
    conn.prepare_cached(
        "INSERT INTO records (agent, door, key, pos, value) VALUES ('', ?, '', 1, printf('%.*c', ?, ' '))",
    )?
    .execute((DOOR, BYTES))?;
    conn.prepare_cached("DELETE FROM records WHERE agent = '' AND door = ?")?
        .execute([DOOR])?;
    Ok(())
}
