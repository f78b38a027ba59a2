//! SQL of agents.

use jackfield_core::store::AgentRecord;
use jackfield_model::{AgentId, Owner};
use rusqlite::{Connection, Row};

use crate::{
    column::{json, parsed, time, time_text},
    error::DatabaseError,
};

/// Inserts or updates an [`AgentRecord`].
pub(crate) fn save(conn: &Connection, agent: &AgentRecord) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO agents (id, owner, door, profile, share, settings, registered_at, resume)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
            owner = excluded.owner, door = excluded.door, profile = excluded.profile, share = excluded.share,
            settings = excluded.settings, registered_at = excluded.registered_at, resume = excluded.resume",
    )?;
    statement.execute((
        agent.id.as_str(),
        agent.owner.as_str(),
        &agent.door,
        serde_json::to_string(&agent.profile)?,
        serde_json::to_string(&agent.share)?,
        serde_json::to_string(&agent.settings)?,
        time_text(agent.registered_at),
        agent.resume,
    ))?;
    Ok(())
}

/// Removes the agent with the id.
pub(crate) fn remove(conn: &Connection, id: &AgentId) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM agents WHERE id = ?")?
        .execute([id.as_str()])?;
    Ok(())
}

/// Returns all agents, sorted by id.
pub(crate) fn load(conn: &Connection) -> Result<Vec<AgentRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM agents ORDER BY id")?;
    let agents = statement.query_map([], from_row)?;
    Ok(agents.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<AgentRecord> {
    Ok(AgentRecord {
        id: parsed(row, "id", AgentId::parse)?,
        owner: parsed(row, "owner", Owner::parse)?,
        door: row.get("door")?,
        profile: json(row, "profile")?,
        share: json(row, "share")?,
        settings: json(row, "settings")?,
        registered_at: time(row, "registered_at")?,
        resume: row.get("resume")?,
    })
}
