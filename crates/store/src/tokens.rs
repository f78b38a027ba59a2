//! SQL of tokens. The store holds only the hash of a token, never the token.

use jackfield_core::store::TokenRecord;
use jackfield_model::{AgentId, Owner, TokenId};
use rusqlite::{Connection, Row};

use crate::{
    column::{json, optional_name, optional_time, parsed, parsed_name, time, time_text},
    error::DatabaseError,
};

/// Inserts or updates a [`TokenRecord`].
pub(crate) fn save(conn: &Connection, token: &TokenRecord) -> Result<(), DatabaseError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO tokens (id, name, owner, agent, hash, scopes, created_at, expires_at, revoked_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
            name = excluded.name, owner = excluded.owner, agent = excluded.agent, hash = excluded.hash,
            scopes = excluded.scopes, created_at = excluded.created_at, expires_at = excluded.expires_at,
            revoked_at = excluded.revoked_at",
    )?;
    statement.execute((
        token.id.to_string(),
        &token.name,
        token.owner.as_str(),
        token.agent.as_ref().map(AgentId::as_str),
        token.hash,
        serde_json::to_string(&token.scopes)?,
        time_text(token.created_at),
        token.expires_at.map(time_text),
        token.revoked_at.map(time_text),
    ))?;
    Ok(())
}

/// Removes the token with the id.
pub(crate) fn remove(conn: &Connection, id: TokenId) -> Result<(), DatabaseError> {
    conn.prepare_cached("DELETE FROM tokens WHERE id = ?")?
        .execute([id.to_string()])?;
    Ok(())
}

/// Returns all tokens, oldest first.
pub(crate) fn load(conn: &Connection) -> Result<Vec<TokenRecord>, DatabaseError> {
    let mut statement = conn.prepare("SELECT * FROM tokens ORDER BY id")?;
    let tokens = statement.query_map([], from_row)?;
    Ok(tokens.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TokenRecord> {
    Ok(TokenRecord {
        id: parsed_name(row, "id", TokenId::parse)?,
        name: row.get("name")?,
        owner: parsed(row, "owner", Owner::parse)?,
        agent: optional_name(row, "agent", |id| AgentId::parse(id).ok())?,
        hash: row.get("hash")?,
        scopes: json(row, "scopes")?,
        created_at: time(row, "created_at")?,
        expires_at: optional_time(row, "expires_at")?,
        revoked_at: optional_time(row, "revoked_at")?,
    })
}
