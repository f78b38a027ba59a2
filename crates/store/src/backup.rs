//! Copies of a database that is in use, made with SQLite's backup API: whole, in one file, for its owner only.
//! A copy is written under a temporary name and gets its own when it is complete; it never replaces a file.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use crate::open::{connect_reader, create_private, database_path, publish};

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no database at {0}; name the hub's data directory with --data-dir")]
    NoDatabase(PathBuf),
    /// The copy would replace something.
    #[error("{0} exists already; name a file that does not, or move this one away")]
    Exists(PathBuf),
    /// The copy cannot be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// Where it was to go.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another program holds the database.
    #[error("the database is held by another program; try again")]
    Busy,
    /// SQLite said no.
    #[error("cannot copy the database: {0}; `jackfield doctor` looks into it")]
    Sqlite(#[from] rusqlite::Error),
}

/// Copies the database of a data directory, whether a hub runs on it or not, to a new file.
pub fn backup_file(data_dir: &Path, to: &Path) -> Result<(), BackupError> {
    let path = database_path(data_dir);
    if !path.is_file() {
        return Err(BackupError::NoDatabase(path));
    }
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let temp = copy_beside(&connect_reader(&path)?, to)?;
    publish(&temp, to).map_err(|source| {
        discard(&temp);
        if source.kind() == io::ErrorKind::AlreadyExists {
            return BackupError::Exists(to.to_owned());
        }
        BackupError::Unwritable {
            path: to.to_owned(),
            source,
        }
    })
}

/// Writes a copy under a temporary name in the directory of `to`, synced to disk, and returns that name.
pub(crate) fn copy_beside(from: &Connection, to: &Path) -> Result<PathBuf, BackupError> {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let temp = to.with_file_name(name);
    let unwritable = |source| BackupError::Unwritable {
        path: temp.clone(),
        source,
    };
    // What a process of our number left behind when it was killed.
    match fs::remove_file(&temp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritable(error)),
        _ => {}
    }
    create_private(&temp).map_err(unwritable)?;
    match copy(from, &temp).and_then(|()| {
        File::open(&temp)
            .and_then(|file| file.sync_all())
            .map_err(unwritable)
    }) {
        Ok(()) => Ok(temp),
        Err(error) => {
            discard(&temp);
            Err(error)
        }
    }
}

/// Removes a copy that did not get its name.
pub(crate) fn discard(temp: &Path) {
    if let Err(error) = fs::remove_file(temp)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %temp.display(), %error, "cannot remove an unfinished copy");
    }
}

fn copy(from: &Connection, to: &Path) -> Result<(), BackupError> {
    let mut dest = Connection::open_with_flags(
        to,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // All in one step: a copy in several starts again whenever another process writes in between. With a write-ahead
    // log the step holds no writer up.
    match Backup::new(from, &mut dest)?.step(-1)? {
        StepResult::Done => {}
        // Whatever else it may say, it is not done.
        _ => return Err(BackupError::Busy),
    }
    // The copy shall be one file; the next hub to open it brings the write-ahead log back.
    dest.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    dest.close()
        .map_err(|(_, error)| BackupError::Sqlite(error))
}
