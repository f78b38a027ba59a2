//! Whether the database can be written: a row that is larger than a page comes and goes within one transaction, so that
//! new pages and the write-ahead log are both tried.

use rusqlite::Connection;

use crate::fault::Fault;

/// More than one page, so that the row takes pages of its own.
const BYTES: i64 = 8 << 10;
/// No agent has this id, so that the row is nobody's even for a moment.
const ID: &str = "";

/// Tries to write, within the caller's transaction.
pub(crate) fn run(conn: &Connection) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO remotes (id, owner, door, spec, added_at) VALUES (?, '', '', printf('%.*c', ?, ' '), '')",
    )?
    .execute((ID, BYTES))?;
    conn.prepare_cached("DELETE FROM remotes WHERE id = ?")?
        .execute([ID])?;
    Ok(())
}
