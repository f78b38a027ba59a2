//! SQL of the transfer registry.

use jackfield_core::{store::TransferRecord, transfers::Toward};
use jackfield_model::{AgentId, Offer};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use crate::{
    column::{optional_name, parsed, signed, time, time_text, unsigned},
    error::DatabaseError,
};

/// Inserts or updates a [`TransferRecord`], and removes expired transfers.
pub(crate) fn save(conn: &Connection, transfer: &TransferRecord) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM transfers WHERE until <= ?")?
        .execute([time_text(Timestamp::now())])?;
    let offer = &transfer.offer;
    let mut statement = conn.prepare_cached(
        "INSERT INTO transfers (name, id, agent, peer, caller, to_agent, size, hash, files, until)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (name, id) DO UPDATE SET
            agent = excluded.agent, peer = excluded.peer, caller = excluded.caller, to_agent = excluded.to_agent,
            size = excluded.size, hash = excluded.hash, files = excluded.files, until = excluded.until",
    )?;
    statement.execute((
        transfer.name.as_str(),
        &offer.transfer_id,
        transfer.agent.as_str(),
        transfer.peer.as_ref().map(AgentId::as_str),
        &transfer.caller,
        transfer.toward == Toward::Agent,
        signed(offer.zip_size),
        &offer.zip_sha256,
        signed(offer.file_count),
        time_text(transfer.until),
    ))?;
    Ok(())
}

/// Removes a transfer.
pub(crate) fn remove(conn: &Connection, name: &AgentId, id: &str) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM transfers WHERE name = ? AND id = ?")?
        .execute((name.as_str(), id))?;
    Ok(())
}

/// Removes all transfers of an agent.
pub(crate) fn remove_for_agent(conn: &Connection, name: &AgentId) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM transfers WHERE name = ?")?
        .execute([name.as_str()])?;
    Ok(())
}

/// Returns all transfers that have not expired, oldest first.
pub(crate) fn load(conn: &Connection) -> Result<Vec<TransferRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM transfers WHERE until > ? ORDER BY until")?;
    let transfers = statement.query_map([time_text(Timestamp::now())], from_row)?;
    Ok(transfers.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TransferRecord> {
    let toward = match row.get("to_agent")? {
        true => Toward::Agent,
        false => Toward::Caller,
    };
    Ok(TransferRecord {
        name: parsed(row, "name", AgentId::parse)?,
        agent: parsed(row, "agent", AgentId::parse)?,
        peer: optional_name(row, "peer", |text| AgentId::parse(text).ok())?,
        caller: row.get("caller")?,
        toward,
        offer: Offer {
            transfer_id: row.get("id")?,
            zip_size: unsigned(row, "size")?,
            zip_sha256: row.get("hash")?,
            file_count: unsigned(row, "files")?,
        },
        until: time(row, "until")?,
    })
}
