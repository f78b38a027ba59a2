//! SQL of door records: data that doors store, for their agents or for themselves. The values are opaque to the
//! store. The column `agent` is empty for records about no agent.

use jackfield_core::store::{DoorRecord, RecordKey};
use jackfield_model::AgentId;
use rusqlite::{Connection, Row};

use crate::{
    column::{json, parsed},
    error::DatabaseError,
};

/// Inserts or updates [`DoorRecord`]s. A new record is ordered after all records of the same door and agent.
/// Records of an unknown agent are ignored.
pub(crate) fn save(conn: &Connection, records: &[DoorRecord]) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO records (agent, door, key, pos, value)
         SELECT ?1, ?2, ?3, (SELECT coalesce(max(pos), 0) + 1 FROM records WHERE door = ?2 AND agent = ?1), ?4
            WHERE ?1 = '' OR EXISTS (SELECT 1 FROM agents WHERE id = ?1)
         ON CONFLICT (agent, door, key) DO UPDATE SET value = excluded.value",
    )?;
    for record in records {
        statement.execute((
            agent_text(record.agent.as_ref()),
            &record.door,
            &record.key,
            record.value.get(),
        ))?;
    }
    Ok(())
}

/// Removes records by their [`RecordKey`]s.
pub(crate) fn remove(conn: &Connection, keys: &[RecordKey]) -> Result<(), DatabaseError> {
    let mut statement =
        conn.prepare_cached("DELETE FROM records WHERE agent = ? AND door = ? AND key = ?")?;
    for RecordKey { door, agent, key } in keys {
        statement.execute((agent_text(agent.as_ref()), door, key))?;
    }
    Ok(())
}

/// Removes the records of all doors for an agent.
pub(crate) fn remove_for_agent(conn: &Connection, agent: &AgentId) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM records WHERE agent = ?")?
        .execute([agent.as_str()])?;
    Ok(())
}

/// Returns all records of a door, sorted by agent and order of insertion.
pub(crate) fn load(conn: &Connection, door: &str) -> Result<Vec<DoorRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM records WHERE door = ? ORDER BY agent, pos")?;
    let records = statement.query_map([door], from_row)?;
    Ok(records.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<DoorRecord> {
    Ok(DoorRecord {
        door: row.get("door")?,
        agent: match row.get_ref("agent")?.as_str()? {
            "" => None,
            _ => Some(parsed(row, "agent", AgentId::parse)?),
        },
        key: row.get("key")?,
        value: json(row, "value")?,
    })
}

fn agent_text(agent: Option<&AgentId>) -> &str {
    agent.map_or("", AgentId::as_str)
}
