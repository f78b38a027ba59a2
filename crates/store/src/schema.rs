//! The tables, and how an older database becomes a newer one. `PRAGMA user_version` is the version of a database; the
//! table `schema` says which version a program must know at least to use it. There is no way back but the copy that is
//! made before the first step. Why it is so: docs/decisions/0021-one-schema.md.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::{
    backup,
    open::{OpenError, sync_dir_of},
};

/// Marks the file as ours: "JKFD".
const APPLICATION: i32 = 0x4a4b_4644;

/// One step from a version to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    sql: &'static str,
    /// Whether programs that do not know this step go on using the database: it adds tables, indexes, and columns that
    /// may be null or have a default.
    is_additive: bool,
}

impl Step {
    /// A step that programs which do not know it never notice.
    pub(crate) const fn adds(sql: &'static str) -> Self {
        Self {
            sql,
            is_additive: true,
        }
    }

    /// A step that makes the database useless for programs which do not know it.
    pub(crate) const fn breaks(sql: &'static str) -> Self {
        Self {
            sql,
            is_additive: false,
        }
    }
}

/// What leads to the newest version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// The version that the first step makes of an empty file. Older ones are not read.
    first: u32,
    /// Never edited once released, only added to.
    steps: &'static [Step],
}

/// The schema of this program. Versions up to 15 were those of programs before the first release.
pub(crate) const SCHEMA: Schema = Schema {
    first: 16,
    steps: &[Step::breaks(TABLES), Step::adds(FAILURE_CAUSE)],
};

/// Version 17: the narrower cause of a task's failure, beside `failure` and `failure_text`.
const FAILURE_CAUSE: &str = "ALTER TABLE tasks ADD COLUMN failure_cause TEXT";

/// Times are ISO-8601 in UTC with nine digits of a second, so that they sort as text. Ids are text.
const TABLES: &str = "
    -- One row: what a program must know to use this file.
    CREATE TABLE schema (
        min_reader INTEGER NOT NULL -- the lowest schema version of such a program
    ) STRICT;
    INSERT INTO schema VALUES (0);

    CREATE TABLE agents (
        id            TEXT PRIMARY KEY NOT NULL,
        owner         TEXT NOT NULL,
        door          TEXT NOT NULL,
        profile       TEXT NOT NULL, -- JSON
        share         TEXT NOT NULL, -- JSON
        settings      TEXT NOT NULL, -- JSON
        registered_at TEXT NOT NULL,
        resume        BLOB -- SHA-256 of the token that resumes its last connection, which is kept nowhere
    ) STRICT, WITHOUT ROWID;

    -- Agents that the hub dials. None of them goes by itself when its agent is written anew, as a reference would have it.
    CREATE TABLE remotes (
        id       TEXT PRIMARY KEY NOT NULL,
        owner    TEXT NOT NULL,
        door     TEXT NOT NULL,
        spec     TEXT NOT NULL, -- JSON, without any secrets
        added_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Peers: those that a connection is kept with, those that are refused, and when those were here that brought agents.
    CREATE TABLE peers (
        id         TEXT PRIMARY KEY NOT NULL,
        address    TEXT, -- a connection is kept by it
        is_blocked INTEGER NOT NULL,
        seen_at    TEXT -- with agents
    ) STRICT, WITHOUT ROWID;

    -- Transfers of files, for the hour in which an archive may be fetched.
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

    -- What doors keep for their agents. It goes with its agent, but not when the agent is written anew.
    CREATE TABLE records (
        agent TEXT NOT NULL,
        door  TEXT NOT NULL,
        key   TEXT NOT NULL,
        pos   INTEGER NOT NULL, -- the order in which a door's records for an agent were first written
        value TEXT NOT NULL, -- JSON, which only the door reads
        PRIMARY KEY (agent, door, key)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX records_in_order ON records (door, agent, pos);

    CREATE TABLE tokens (
        id         TEXT PRIMARY KEY NOT NULL,
        name       TEXT NOT NULL,
        owner      TEXT NOT NULL,
        agent      TEXT, -- the one agent that it stands for
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
        owner        TEXT GENERATED ALWAYS AS ( -- the first part of the principal's key
            CASE instr(principal, '/') WHEN 0 THEN principal ELSE substr(principal, 1, instr(principal, '/') - 1) END
        ) VIRTUAL,
        token        TEXT, -- with which its last message was sent
        caller       TEXT NOT NULL,
        door         TEXT NOT NULL,
        agent        TEXT NOT NULL,
        session      TEXT NOT NULL,
        request      TEXT NOT NULL,
        parent       TEXT, -- a task, or a call that nobody keeps
        state        TEXT NOT NULL,
        sent         INTEGER NOT NULL,
        sent_at      TEXT, -- when the agent got the message of the last turn
        handle       TEXT, -- JSON, as the agent's door wrote it to find the work again
        epoch        INTEGER NOT NULL,
        log_end      INTEGER NOT NULL,
        created_at   TEXT NOT NULL,
        updated_at   TEXT NOT NULL,
        wait_until   TEXT,
        failure      TEXT,
        failure_text TEXT,
        callback     TEXT, -- JSON
        followers    TEXT, -- JSON
        once_key     TEXT,
        once_digest  BLOB, -- SHA-256 of the request
        unread       INTEGER, -- milliseconds
        context      TEXT, -- JSON: what resolvers keep with it, by their names
        bytes        INTEGER NOT NULL DEFAULT 0 -- the sum of the log's bodies
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tasks_by_principal ON tasks (principal, id);
    CREATE INDEX tasks_by_agent ON tasks (agent, id);
    CREATE INDEX tasks_by_session ON tasks (session, id);
    CREATE INDEX tasks_by_request ON tasks (request, id);
    CREATE INDEX tasks_by_state ON tasks (state, id);
    CREATE INDEX tasks_by_update ON tasks (principal, updated_at, id);
    CREATE INDEX tasks_by_once ON tasks (principal, agent, once_key) WHERE once_key IS NOT NULL;
    CREATE INDEX tasks_told ON tasks (id) WHERE callback IS NOT NULL OR followers IS NOT NULL;
    -- Only finished tasks, so that appending to one that runs does not touch these.
    CREATE INDEX tasks_finished ON tasks (updated_at)
        WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');
    CREATE INDEX tasks_finished_by_owner ON tasks (owner, updated_at, id)
        WHERE state IN ('completed', 'failed', 'cancelled', 'rejected');

    -- A row of text may hold many chunks: see `log.rs`.
    CREATE TABLE log (
        task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        pos  INTEGER NOT NULL,
        seq  INTEGER,
        at   TEXT NOT NULL, -- when it was written
        kind TEXT NOT NULL,
        body TEXT NOT NULL, -- JSON; of a chunk: {kind, text, …}
        PRIMARY KEY (task, pos)
    ) STRICT;

    -- A callback goes with its task, which `trim.rs` leaves alone as long as the callback is pending.
    CREATE TABLE outbox (
        id         TEXT PRIMARY KEY NOT NULL,
        task       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        origin     TEXT NOT NULL, -- of the URL: there is a limit per destination
        callback   TEXT NOT NULL, -- JSON
        state      TEXT NOT NULL, -- pending, dead
        attempts   INTEGER NOT NULL,
        next_at    TEXT NOT NULL,
        created_at TEXT NOT NULL,
        last_error TEXT,
        reply      TEXT, -- JSON: what it says where its task's log does not
        lane       TEXT,
        pos        INTEGER -- in the task's log
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX outbox_by_task ON outbox (task);
    CREATE INDEX outbox_pending ON outbox (next_at) WHERE state = 'pending';
    CREATE INDEX outbox_lanes ON outbox (lane, id) WHERE state = 'pending' AND lane IS NOT NULL;
";

impl Schema {
    /// The newest version.
    pub(crate) fn newest(&self) -> u32 {
        let steps = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(steps) - 1
    }

    /// Whether a program with this schema can use a database, after the steps that are missing.
    pub(crate) fn reads(&self, version: Version) -> bool {
        version.found >= self.first
            && (version.found <= self.newest() || version.min_reader <= self.newest())
    }

    /// The steps after a version, each with the version that it leads to.
    fn steps_after(&self, version: u32) -> impl Iterator<Item = (u32, &Step)> {
        let steps = (self.first..).zip(self.steps);
        steps.filter(move |(to, _)| *to > version)
    }
}

/// The version of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// Its own; 0 of an empty one.
    pub(crate) found: u32,
    /// The version that a program must know at least to use it.
    pub(crate) min_reader: u32,
}

impl Version {
    pub(crate) fn of(conn: &Connection) -> rusqlite::Result<Self> {
        let found = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let has_table =
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema')";
        let min_reader = if conn.query_row(has_table, [], |row| row.get(0))? {
            let row = conn.query_row("SELECT min_reader FROM schema", [], |row| row.get(0));
            row.optional()?
        } else {
            None
        };
        Ok(Self {
            found,
            // One that does not say so is used by programs of its version.
            min_reader: min_reader.unwrap_or(found),
        })
    }
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

/// Refuses a database that is not ours, older than the first version, or one that needs a newer program. Returns its version.
pub(crate) fn accept(conn: &Connection, path: &Path, schema: &Schema) -> Result<u32, OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let version = Version::of(conn).map_err(sqlite)?;
    let Version { found, min_reader } = version;
    let path = || path.to_owned();
    if is_foreign(conn, found).map_err(sqlite)? {
        return Err(OpenError::Foreign { path: path() });
    }
    if found == 0 || schema.reads(version) {
        return Ok(found);
    }
    if found < schema.first {
        return Err(OpenError::TooOld {
            path: path(),
            found,
            first: schema.first,
        });
    }
    Err(OpenError::TooNew {
        path: path(),
        found,
        needed: min_reader,
        known: schema.newest(),
    })
}

/// Brings a database to the newest version, after a copy if there is something in it. Each step is a transaction, so
/// that a crash leaves the database at some version, whole. One that is newer stays as it is.
pub(crate) fn migrate(
    conn: &mut Connection,
    path: &Path,
    schema: &Schema,
) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let found = accept(conn, path, schema)?;
    let newest = schema.newest();
    if found > newest {
        tracing::info!(path = %path.display(), found, newest, "the database has more than this program knows");
    }
    if found > 0 && found < newest {
        copy(conn, path, found)?;
    }
    for (version, step) in schema.steps_after(found) {
        take(conn, version, step).map_err(sqlite)?;
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

fn take(conn: &mut Connection, version: u32, step: &Step) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(step.sql)?;
    if !step.is_additive {
        tx.execute("UPDATE schema SET min_reader = ?", [version])?;
    }
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()
}
