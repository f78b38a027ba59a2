//! Copies of a database in use, made with SQLite's backup API: complete, in one file, private to its owner. A
//! copy is written under a temporary name and renamed when complete; a copy never replaces a file.

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

/// Error while copying a database.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The data directory contains no database.
    #[error("there is no database at {0}; name the hub's data directory with --data-dir")]
    NoDatabase(PathBuf),
    /// The target file exists already.
    #[error("{0} exists already; name a file that does not, or move this one away")]
    Exists(PathBuf),
    /// The copy cannot be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// The path of the copy.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another program holds the database.
    #[error("the database is held by another program; try again")]
    Busy,
    /// SQLite reported an error.
    #[error("cannot copy the database: {0}; run: jackfield doctor")]
    Sqlite(#[from] rusqlite::Error),
}

/// Copies the database of a data directory to the new file `to`, whether or not a hub uses the directory.
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

/// Writes a copy under a temporary name in the directory of `to`, synced to disk, and returns the temporary
/// path.
pub(crate) fn copy_beside(from: &Connection, to: &Path) -> Result<PathBuf, BackupError> {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let temp = to.with_file_name(name);
    let unwritable = |source| BackupError::Unwritable {
        path: temp.clone(),
        source,
    };
    // Removes a leftover of a killed process with the same process id.
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

/// Removes an unfinished copy.
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
    // A copy in several steps starts again whenever another process writes in between, therefore one step.
    // With a write-ahead log the step blocks no writer.
    match Backup::new(from, &mut dest)?.step(-1)? {
        StepResult::Done => {}
        // Any other result means that the copy is incomplete.
        _ => return Err(BackupError::Busy),
    }
    // The copy is a single file without a write-ahead log; the next hub that opens it enables the log again.
    dest.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    dest.close()
        .map_err(|(_, error)| BackupError::Sqlite(error))
}
