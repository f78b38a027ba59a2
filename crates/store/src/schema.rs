//! The tables, and the migration of an older database. `PRAGMA user_version` is the schema version of a
//! database; the table `schema` holds the lowest version that a program must know to use the database. The
//! only way back is the copy that is made before the first migration step. Rationale:
//! docs/decisions/0021-one-schema.md.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::{
    backup,
    open::{StoreOpenError, sync_dir_of},
};

/// SQLite application id of a Jackfield database: "JKFD".
const APPLICATION: i32 = 0x4a4b_4644;

/// A migration step from one schema version to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MigrationStep {
    sql: &'static str,
    /// Whether older programs can still use the database after the step: it only adds tables, indexes, and
    /// columns that may be null or have a default.
    is_additive: bool,
}

impl MigrationStep {
    /// Creates a step that leaves the database usable for older programs.
    pub(crate) const fn additive(sql: &'static str) -> Self {
        Self {
            sql,
            is_additive: true,
        }
    }

    /// Creates a step that makes the database unusable for older programs.
    pub(crate) const fn breaking(sql: &'static str) -> Self {
        Self {
            sql,
            is_additive: false,
        }
    }
}

/// The migration steps that lead to the newest schema version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatabaseSchema {
    /// The version after the first step on an empty file. Older versions are refused.
    first: u32,
    /// The steps in order. A released step is never edited; new steps are appended.
    steps: &'static [MigrationStep],
}

/// The schema of this program. Versions up to 17 belong to programs before the first release.
pub(crate) const SCHEMA: DatabaseSchema = DatabaseSchema {
    first: 18,
    steps: &[
        MigrationStep::breaking(TABLES),
        MigrationStep::breaking(FINAL_STATES),
        MigrationStep::breaking(CLUSTERED_LOG),
        MigrationStep::additive(CANCELLING),
    ],
};

/// SQL of the first version. Times are ISO-8601 in UTC with nine digits of a second, so that they sort as
/// text. Ids are text.
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

    -- Records of doors. A record about an agent is removed with the agent, but not when the agent is written again.
    CREATE TABLE records (
        agent TEXT NOT NULL, -- empty for a record about no agent
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
        failure_cause TEXT, -- the narrower cause of the failure
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

/// SQL of version 19. For a list of states in the condition of an index, SQLite builds a temporary table with every
/// insert and update of a task; for a computed column it does not.
const FINAL_STATES: &str = "
    ALTER TABLE tasks ADD COLUMN is_final INTEGER GENERATED ALWAYS AS (
        CASE state WHEN 'completed' THEN 1 WHEN 'failed' THEN 1 WHEN 'cancelled' THEN 1 WHEN 'rejected' THEN 1 ELSE 0 END
    ) VIRTUAL;
    DROP INDEX tasks_finished;
    DROP INDEX tasks_finished_by_owner;
    CREATE INDEX tasks_finished ON tasks (updated_at) WHERE is_final = 1;
    CREATE INDEX tasks_finished_by_owner ON tasks (owner, updated_at, id) WHERE is_final = 1;
";

/// SQL of version 20. The rows of the log are stored in their primary key, which saves an index and its pages. A row may be
/// written before its task, which the same transaction writes: there is no foreign key. `trim.rs` removes the rows
/// of a task before the task.
const CLUSTERED_LOG: &str = "
    CREATE TABLE clustered_log (
        task TEXT NOT NULL,
        pos  INTEGER NOT NULL,
        seq  INTEGER,
        at   TEXT NOT NULL, -- when it was written
        kind TEXT NOT NULL,
        body TEXT NOT NULL, -- JSON; of a chunk: {kind, text, …}
        PRIMARY KEY (task, pos)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO clustered_log SELECT task, pos, seq, at, kind, body FROM log;
    DROP TABLE log;
    ALTER TABLE clustered_log RENAME TO log;
";

/// SQL of version 21. A cancelled turn is marked before its agent is told.
const CANCELLING: &str = "
    ALTER TABLE tasks ADD COLUMN cancelling INTEGER NOT NULL DEFAULT 0;
";

impl DatabaseSchema {
    /// Returns the newest schema version.
    pub(crate) fn newest(&self) -> u32 {
        let steps = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(steps) - 1
    }

    /// Returns whether a program with this schema can use a database of `version`, after the missing steps.
    pub(crate) fn reads(&self, version: SchemaVersion) -> bool {
        version.found >= self.first
            && (version.found <= self.newest() || version.min_reader <= self.newest())
    }

    /// Returns the steps after `version`, each with its resulting version.
    fn steps_after(&self, version: u32) -> impl Iterator<Item = (u32, &MigrationStep)> {
        let steps = (self.first..).zip(self.steps);
        steps.filter(move |(to, _)| *to > version)
    }
}

/// The schema version of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaVersion {
    /// Version of the database; 0 for an empty file.
    pub(crate) found: u32,
    /// Lowest version that a program must know to use the database.
    pub(crate) min_reader: u32,
}

impl SchemaVersion {
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
            // Without a stored value, only programs that know the database's own version may use it.
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

/// Refuses a database that another program created, that is older than the first version, or that needs a
/// newer program. Returns the version of an accepted database, 0 for an empty file.
pub(crate) fn accept(
    conn: &Connection,
    path: &Path,
    schema: &DatabaseSchema,
) -> Result<u32, StoreOpenError> {
    let sqlite = |source| StoreOpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let version = SchemaVersion::of(conn).map_err(sqlite)?;
    let SchemaVersion { found, min_reader } = version;
    let path = || path.to_owned();
    if is_foreign(conn, found).map_err(sqlite)? {
        return Err(StoreOpenError::Foreign { path: path() });
    }
    if found == 0 || schema.reads(version) {
        return Ok(found);
    }
    if found < schema.first {
        return Err(StoreOpenError::TooOld {
            path: path(),
            found,
            first: schema.first,
        });
    }
    Err(StoreOpenError::TooNew {
        path: path(),
        found,
        needed: min_reader,
        known: schema.newest(),
    })
}

/// Migrates a database to the newest version, after a copy if the database is not empty. Each [`MigrationStep`] is a
/// transaction, so that a crash leaves the database complete at some version. A newer database stays
/// unchanged.
pub(crate) fn migrate(
    conn: &mut Connection,
    path: &Path,
    schema: &DatabaseSchema,
) -> Result<(), StoreOpenError> {
    let sqlite = |source| StoreOpenError::Sqlite {
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
        apply_step(conn, version, step).map_err(sqlite)?;
        // The creation of a new database is not worth a log line.
        if found > 0 {
            tracing::info!(path = %path.display(), version, "migrated the database");
        }
    }
    Ok(())
}

/// Copies the database to a file beside it, named after its version. Replaces a copy of the same version,
/// which is left from an interrupted attempt.
fn copy(conn: &Connection, path: &Path, version: u32) -> Result<(), StoreOpenError> {
    let mut to = path.as_os_str().to_owned();
    to.push(format!(".bak-v{version}"));
    let to = Path::new(&to);
    let temp = backup::copy_beside(conn, to)?;
    fs::rename(&temp, to)
        .and_then(|()| sync_dir_of(to))
        .map_err(|source| {
            backup::discard(&temp);
            StoreOpenError::Unusable {
                path: to.to_owned(),
                source,
            }
        })
}

fn apply_step(conn: &mut Connection, version: u32, step: &MigrationStep) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(step.sql)?;
    if !step.is_additive {
        tx.execute("UPDATE schema SET min_reader = ?", [version])?;
    }
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()
}
