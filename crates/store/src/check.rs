//! Inspection of a database without changing it, for `jackfield doctor`. Works beside a running hub.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use crate::{
    open::{StoreOpenError, connect_reader, database_path},
    schema::{self, SCHEMA, SchemaVersion},
};

/// Error of [`check`].
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The data directory contains no database.
    #[error("there is no database at {0}; a hub makes it at its first start")]
    NoDatabase(PathBuf),
    /// The database cannot be read.
    #[error("cannot read {path}: {source}; if it is damaged, put a backup in its place")]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

/// Result of [`check`]: the state of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseReport {
    /// The database.
    pub path: PathBuf,
    /// The schema version of the database.
    pub schema: u32,
    /// The newest schema version that this program knows. The next start migrates an older database.
    pub known_schema: u32,
    /// Reason why a hub of this version would refuse the database, if any.
    pub refused: Option<DatabaseRefusal>,
    /// Size of the database on disk in bytes, with its write-ahead log.
    pub size: u64,
    /// Complaints of SQLite's `quick_check`; empty for a sound database.
    pub problems: Vec<String>,
    /// Number of entries in the database; only for a schema that this program knows.
    pub counts: Option<DatabaseCounts>,
}

/// Reason why this program refuses a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseRefusal {
    /// A program from before the first release wrote the database. Holds the oldest version that this program
    /// reads.
    TooOld(u32),
    /// The database needs a program that knows at least this version.
    TooNew(u32),
    /// Another program created the database.
    Foreign,
}

/// Numbers of entries in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseCounts {
    /// Agents ever registered.
    pub agents: u64,
    /// Tokens, including revoked tokens.
    pub tokens: u64,
    /// Tasks.
    pub tasks: u64,
    /// Unfinished tasks.
    pub unfinished: u64,
    /// Rows of all logs.
    pub log_rows: u64,
    /// Bytes of all logs, as counted by [`Store::trim`](jackfield_core::store::Store::trim).
    pub log_bytes: u64,
    /// Callbacks that are not delivered yet.
    pub callbacks_pending: u64,
    /// Callbacks whose delivery was given up.
    pub callbacks_dead: u64,
}

/// Inspects the database of a data directory.
pub fn check(data_dir: &Path) -> Result<DatabaseReport, CheckError> {
    let path = database_path(data_dir);
    if !path.is_file() {
        return Err(CheckError::NoDatabase(path));
    }
    inspect(&path).map_err(|source| CheckError::Unreadable { path, source })
}

fn inspect(path: &Path) -> rusqlite::Result<DatabaseReport> {
    let conn = connect_reader(path)?;
    let schema = SchemaVersion::of(&conn)?.found;
    let known_schema = SCHEMA.newest();
    let refused = match schema::accept(&conn, path, &SCHEMA) {
        Ok(_) => None,
        Err(StoreOpenError::Sqlite { source, .. }) => return Err(source),
        Err(StoreOpenError::TooOld { first, .. }) => Some(DatabaseRefusal::TooOld(first)),
        Err(StoreOpenError::TooNew { needed, .. }) => Some(DatabaseRefusal::TooNew(needed)),
        Err(_) => Some(DatabaseRefusal::Foreign),
    };
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let size = [path, Path::new(&wal)]
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|file| file.len())
        .sum();
    let problems = problems(&conn)?;
    let is_known = schema >= known_schema && refused.is_none();
    let counts = is_known.then(|| count(&conn)).transpose()?;
    Ok(DatabaseReport {
        path: path.to_owned(),
        schema,
        known_schema,
        refused,
        size,
        problems,
        counts,
    })
}

fn problems(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("PRAGMA quick_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    lines
        .filter(|line| line.as_ref().is_ok_and(|line| line != "ok") || line.is_err())
        .collect()
}

fn count(conn: &Connection) -> rusqlite::Result<DatabaseCounts> {
    let one = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i64>(0))
            .map(i64::cast_unsigned)
    };
    Ok(DatabaseCounts {
        agents: one("SELECT count(*) FROM agents")?,
        tokens: one("SELECT count(*) FROM tokens")?,
        tasks: one("SELECT count(*) FROM tasks")?,
        unfinished: one(
            "SELECT count(*) FROM tasks WHERE state IN ('submitted', 'working', 'input_required', 'auth_required')",
        )?,
        log_rows: one("SELECT count(*) FROM log")?,
        log_bytes: one("SELECT coalesce(sum(bytes), 0) FROM tasks")?,
        callbacks_pending: one("SELECT count(*) FROM outbox WHERE state = 'pending'")?,
        callbacks_dead: one("SELECT count(*) FROM outbox WHERE state = 'dead'")?,
    })
}
