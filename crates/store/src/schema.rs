//! The tables, and how an older database becomes a newer one. `PRAGMA user_version` is the number of migrations that
//! a database has been through; there is no way back but the copy that is made before the first of them.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use rusqlite::{Connection, TransactionBehavior};

use crate::{
    backup,
    open::{OpenError, sync_dir_of},
};

/// Marks the file as ours: "JKFD".
const APPLICATION: i32 = 0x4a4b_4644;

/// What leads from each version to the next. Never edited once released, only added to.
pub(crate) const MIGRATIONS: &[&str] =
    &[V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14];

/// Times are ISO-8601 in UTC with nine digits of a second, so that they sort as text. Ids are text. `bytes` is the sum
/// of the log's bodies. A text row of the log may hold many chunks: see `log.rs`.
const V1: &str = "
    CREATE TABLE agents (
        id            TEXT PRIMARY KEY NOT NULL,
        owner         TEXT NOT NULL,
        door          TEXT NOT NULL,
        profile       TEXT NOT NULL, -- JSON
        share         TEXT NOT NULL, -- JSON
        settings      TEXT NOT NULL, -- JSON
        registered_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE tokens (
        id         TEXT PRIMARY KEY NOT NULL,
        name       TEXT NOT NULL,
        owner      TEXT NOT NULL,
        hash       BLOB NOT NULL, -- SHA-256 of the token, which is kept nowhere
        scopes     TEXT NOT NULL, -- JSON
        created_at TEXT NOT NULL,
        expires_at TEXT,
        revoked_at TEXT
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE tasks (
        id           TEXT PRIMARY KEY NOT NULL,
        call         TEXT NOT NULL,
        principal    TEXT NOT NULL,
        caller       TEXT NOT NULL,
        door         TEXT NOT NULL,
        agent        TEXT NOT NULL,
        session      TEXT NOT NULL,
        request      TEXT NOT NULL,
        state        TEXT NOT NULL,
        sent         INTEGER NOT NULL,
        epoch        INTEGER NOT NULL,
        log_end      INTEGER NOT NULL,
        created_at   TEXT NOT NULL,
        updated_at   TEXT NOT NULL,
        wait_until   TEXT,
        failure      TEXT,
        failure_text TEXT,
        bytes        INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tasks_by_principal ON tasks (principal, id);
    CREATE INDEX tasks_by_agent ON tasks (agent, id);
    CREATE INDEX tasks_by_session ON tasks (session, id);
    CREATE INDEX tasks_by_state ON tasks (state, id);
    -- Only finished tasks, so that appending to one that runs does not touch it.
    CREATE INDEX tasks_finished ON tasks (updated_at)
        WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');

    CREATE TABLE log (
        task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        pos  INTEGER NOT NULL,
        seq  INTEGER,
        kind TEXT NOT NULL,
        body TEXT NOT NULL, -- JSON; of a chunk: {kind, text, …}
        PRIMARY KEY (task, pos)
    ) STRICT;
";

/// Callbacks, and tasks that go on only while somebody reads them. A callback goes with its task, which `trim.rs` leaves
/// alone as long as the callback is pending.
const V2: &str = "
    ALTER TABLE tasks ADD COLUMN callback TEXT; -- JSON
    ALTER TABLE tasks ADD COLUMN unread INTEGER; -- milliseconds

    CREATE TABLE outbox (
        id         TEXT PRIMARY KEY NOT NULL,
        task       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        origin     TEXT NOT NULL, -- of the URL: there is a limit per destination
        callback   TEXT NOT NULL, -- JSON
        state      TEXT NOT NULL, -- pending, dead
        attempts   INTEGER NOT NULL,
        next_at    TEXT NOT NULL,
        created_at TEXT NOT NULL,
        last_error TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX outbox_by_task ON outbox (task);
    CREATE INDEX outbox_pending ON outbox (next_at) WHERE state = 'pending';
";

/// What a callback says where its task's log does not, and tasks by their request, which is how platforms know them.
const V3: &str = "
    ALTER TABLE outbox ADD COLUMN reply TEXT; -- JSON
    CREATE INDEX tasks_by_request ON tasks (request, id);
";

/// What a connection shows to resume the last one of its agent.
const V4: &str = "
    ALTER TABLE agents ADD COLUMN resume BLOB; -- SHA-256 of the token, which is kept nowhere
";

/// Those who follow a task, each told in a lane of its own; requests that are known when they come again; and tasks by
/// when they changed.
const V5: &str = "
    ALTER TABLE tasks ADD COLUMN followers TEXT; -- JSON
    ALTER TABLE tasks ADD COLUMN once_key TEXT;
    ALTER TABLE tasks ADD COLUMN once_digest BLOB; -- SHA-256 of the request
    CREATE INDEX tasks_by_once ON tasks (principal, agent, once_key) WHERE once_key IS NOT NULL;
    CREATE INDEX tasks_by_update ON tasks (principal, updated_at, id);

    ALTER TABLE outbox ADD COLUMN lane TEXT;
    ALTER TABLE outbox ADD COLUMN pos INTEGER; -- in the task's log
    CREATE INDEX outbox_lanes ON outbox (lane, id) WHERE state = 'pending' AND lane IS NOT NULL;
";

/// Agents that the hub dials. None of them goes by itself when its agent is written anew, as a reference would have it.
const V6: &str = "
    CREATE TABLE remotes (
        id       TEXT PRIMARY KEY NOT NULL,
        owner    TEXT NOT NULL,
        door     TEXT NOT NULL,
        spec     TEXT NOT NULL, -- JSON, without any secrets
        added_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// Teams and their boards. A team goes with its agent, but not when its agent is written anew. `pos` keeps the order in
/// which tasks came onto their board.
const V7: &str = "
    CREATE TABLE teams (
        id         TEXT PRIMARY KEY NOT NULL,
        owner      TEXT NOT NULL,
        by_admin   INTEGER NOT NULL,
        spec       TEXT NOT NULL, -- JSON
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE team_tasks (
        team         TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
        id           TEXT NOT NULL,
        pos          INTEGER NOT NULL,
        name         TEXT NOT NULL,
        assignee     TEXT NOT NULL,
        description  TEXT NOT NULL,
        dependencies TEXT NOT NULL, -- JSON
        status       TEXT NOT NULL,
        deliverables TEXT NOT NULL, -- JSON
        PRIMARY KEY (team, id)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX team_tasks_in_order ON team_tasks (team, pos);
";

/// Peers: those that a connection is kept with, those that are refused, and when those were here that brought agents. What
/// a task was called for.
const V8: &str = "
    CREATE TABLE peers (
        id         TEXT PRIMARY KEY NOT NULL,
        address    TEXT, -- a connection is kept by it
        is_blocked INTEGER NOT NULL,
        seen_at    TEXT -- with agents
    ) STRICT, WITHOUT ROWID;

    ALTER TABLE tasks ADD COLUMN parent TEXT; -- a task, or a call that nobody keeps
";

/// By what the work on a task is found again that went on at another server while the hub was restarted.
const V9: &str = "
    ALTER TABLE tasks ADD COLUMN handle TEXT; -- JSON, as the agent's door wrote it
";

/// The runs of teams that a task belongs to, so that it is shown there again after a restart.
const V10: &str = "
    ALTER TABLE tasks ADD COLUMN seats TEXT; -- JSON
";

/// Transfers of files, for the hour in which an archive may be fetched.
const V11: &str = "
    CREATE TABLE transfers (
        name     TEXT NOT NULL, -- under which the agent was called
        id       TEXT NOT NULL,
        agent    TEXT NOT NULL,
        peer     TEXT, -- the caller, where it is an agent
        caller   TEXT NOT NULL,
        to_agent INTEGER NOT NULL,
        size     INTEGER NOT NULL,
        hash     TEXT NOT NULL,
        files    INTEGER NOT NULL,
        until    TEXT NOT NULL,
        PRIMARY KEY (name, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX transfers_by_time ON transfers (until);
";

/// The one agent that a token stands for. Those of invites were the owner's before; they are known by the name and the one
/// scope that every invite gave.
const V12: &str = "
    ALTER TABLE tokens ADD COLUMN agent TEXT;
    UPDATE tokens SET agent = substr(name, 11)
        WHERE substr(name, 1, 10) = 'invite of ' AND scopes = json_array('agent:' || substr(name, 11));
";

/// The token with which a task's last message was sent, so that its right can be checked again; tasks that somebody is
/// told of, and finished ones by owner, so that those of the owner that holds most go first. The owner is the first part
/// of the principal's key.
const V13: &str = "
    ALTER TABLE tasks ADD COLUMN token TEXT;
    ALTER TABLE tasks ADD COLUMN owner TEXT GENERATED ALWAYS AS (
        CASE instr(principal, '/') WHEN 0 THEN principal ELSE substr(principal, 1, instr(principal, '/') - 1) END
    ) VIRTUAL;
    CREATE INDEX tasks_told ON tasks (id) WHERE callback IS NOT NULL OR followers IS NOT NULL;
    CREATE INDEX tasks_finished_by_owner ON tasks (owner, updated_at, id)
        WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');
";

/// When each row of a log was written, and when the agent got the message of a task's last turn. Rows from before have the
/// time of their task.
const V14: &str = "
    ALTER TABLE log ADD COLUMN at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000000000Z';
    UPDATE log SET at = (SELECT updated_at FROM tasks WHERE id = log.task);
    ALTER TABLE tasks ADD COLUMN sent_at TEXT;
";

/// The version of a database; 0 is an empty one.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The version that these migrations lead to.
pub(crate) fn newest(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

fn is_foreign(conn: &Connection, version: u32) -> rusqlite::Result<bool> {
    if version == 0 {
        return conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| {
            row.get(0)
        });
    }
    conn.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))
        .map(|id| id != APPLICATION)
}

/// Refuses a database that is not ours, or newer than we are. Returns its version.
pub(crate) fn accept(
    conn: &Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<u32, OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let known = newest(migrations);
    let found = version(conn).map_err(sqlite)?;
    if is_foreign(conn, found).map_err(sqlite)? {
        return Err(OpenError::Foreign {
            path: path.to_owned(),
        });
    }
    if found > known {
        return Err(OpenError::TooNew {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(found)
}

/// Brings a database to the newest version, after a copy if there is something in it. Each step is a transaction, so
/// that a crash leaves the database at some version, whole.
pub(crate) fn migrate(
    conn: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let found = accept(conn, path, migrations)?;
    let known = newest(migrations);
    if found > 0 && found < known {
        copy(conn, path, found)?;
    }
    for (version, sql) in (1..).zip(migrations).skip(found as usize) {
        step(conn, version, sql).map_err(sqlite)?;
        // A new database is no news.
        if found > 0 {
            tracing::info!(path = %path.display(), version, "migrated the database");
        }
    }
    Ok(())
}

/// Leaves a copy beside the database. One of the same version is from an attempt that was cut off, and goes.
fn copy(conn: &Connection, path: &Path, version: u32) -> Result<(), OpenError> {
    let mut to = path.as_os_str().to_owned();
    to.push(format!(".bak-v{version}"));
    let to = Path::new(&to);
    let temp = backup::copy_beside(conn, to)?;
    fs::rename(&temp, to)
        .and_then(|()| sync_dir_of(to))
        .map_err(|source| {
            backup::discard(&temp);
            OpenError::Unusable {
                path: to.to_owned(),
                source,
            }
        })
}

fn step(conn: &mut Connection, version: u32, sql: &str) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(sql)?;
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()
}
