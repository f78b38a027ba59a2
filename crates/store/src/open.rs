//! The data directory: paths and modes of its files, the lock against a second hub, and the connections to
//! the database. All files are private to their owner: modes 0700 and 0600.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use crate::{backup::BackupError, reader::ReaderConnections, schema};

/// Name of the database file in the data directory.
const DATABASE: &str = "jackfield.db";
/// Name of the file that a running hub keeps locked.
const LOCK: &str = "lock";
/// How long a connection waits while another program holds the database (a backup, or an operator's
/// `sqlite3`).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Prepared statements cached per connection: all statements of this crate, with every common combination of
/// filters.
const STATEMENTS: usize = 64;
/// Maximum size in bytes of the write-ahead log on disk after a checkpoint.
const WAL_LIMIT: i64 = 64 << 20;

/// Error while opening a data directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The directory or a file in it cannot be created or used.
    #[error(
        "cannot use {path}: {source}; make it writable for this user, or choose another directory with --data-dir"
    )]
    Unusable {
        /// The directory or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another hub uses the directory.
    #[error(
        "another hub{holder} uses {path}; stop it, or give this one a directory of its own with --data-dir"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process of the other hub, where known.
        holder: String,
    },
    /// A newer Jackfield wrote the database, and this version cannot use it.
    #[error(
        "{path} has schema version {found} and needs a Jackfield that knows version {needed}; this one knows versions up to {known}; \
         run the newer Jackfield that wrote it, or put a copy of version {known} or older in its place \
         (a migration leaves one beside it, named {DATABASE}.bak-vN)"
    )]
    TooNew {
        /// The database.
        path: PathBuf,
        /// The schema version of the database.
        found: u32,
        /// The schema version that a program must know to use the database.
        needed: u32,
        /// The newest schema version that this program knows.
        known: u32,
    },
    /// A Jackfield from before the first release wrote the database.
    #[error(
        "{path} has schema version {found}, of a Jackfield from before the first release; this one reads version {first} and later; \
         move {DATABASE}, {DATABASE}-wal and {DATABASE}-shm away to start anew (agents register again, tokens have to be made again), \
         choose another directory with --data-dir, or run the Jackfield that wrote it"
    )]
    TooOld {
        /// The database.
        path: PathBuf,
        /// The schema version of the database.
        found: u32,
        /// The oldest schema version that this program reads.
        first: u32,
    },
    /// Another program created the database.
    #[error(
        "{path} is not a Jackfield database; move it away, or choose another directory with --data-dir"
    )]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// The file system does not support a write-ahead log.
    #[error(
        "{path} cannot have a write-ahead log; choose a directory on a local disk with --data-dir"
    )]
    NoWal {
        /// The database.
        path: PathBuf,
    },
    /// The copy before a migration failed; the database is unchanged.
    #[error("cannot copy the database before migrating it: {0}")]
    Copy(#[from] BackupError),
    /// SQLite reported an error.
    #[error("cannot open {path}: {source}; run: jackfield doctor")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

/// Returns the path of the database in a data directory.
pub(crate) fn database_path(data_dir: &Path) -> PathBuf {
    data_dir.join(DATABASE)
}

/// Creates the directory with mode 0700 if it does not exist.
pub(crate) fn make_dir(data_dir: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
}

/// Creates a new file with mode 0600.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Renames the finished temporary file `temp` to `to`, unless `to` exists already; then syncs the directory.
pub(crate) fn publish(temp: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(temp, to) {
        Ok(()) => fs::remove_file(temp)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Some file systems have no hard links.
        Err(_) if to.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(temp, to)?,
    }
    sync_dir_of(to)
}

/// Syncs the directory of a file, so that the file's name survives a power cut.
pub(crate) fn sync_dir_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => File::open(dir)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// The locks of a data directory. They last until [`DirLock::release`], or until all processes have closed
/// the files.
#[derive(Debug)]
pub(crate) struct DirLock {
    /// Lock of the directory that contains the database. This directory cannot be removed without the
    /// database. `None` where directories cannot be locked, as on some network file systems.
    dir: Option<File>,
    /// Lock file, which contains the id of the locking process.
    file: File,
}

impl DirLock {
    /// Takes the locks, or returns [`StoreOpenError::InUse`] if another hub holds them.
    fn take(data_dir: &Path) -> Result<Self, StoreOpenError> {
        let path = data_dir.join(LOCK);
        let unusable = |source| StoreOpenError::Unusable {
            path: path.clone(),
            source,
        };
        let in_use = || StoreOpenError::InUse {
            path: data_dir.to_owned(),
            holder: holder(&path),
        };
        let dir = lock_dir(data_dir).ok_or_else(in_use)?;
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let mut file = options.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use()),
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        // A hub that finds the lock taken reports this process id.
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(unusable)?;
        Ok(Self { dir, file })
    }

    /// Returns the locked files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.dir.iter().chain([&self.file])
    }

    /// Releases the locks for other hubs. Closing the files is not enough: a child process that is being
    /// started holds them open a moment longer.
    pub(crate) fn release(self) {
        for file in self.files() {
            if let Err(error) = file.unlock() {
                tracing::warn!(%error, "cannot unlock the data directory");
            }
        }
    }
}

/// Locks the directory that contains the database of a data directory. The lock is independent of the locks
/// of SQLite on the database: a program that only reads needs no lock of the hub. Returns `None` if another
/// hub holds the lock, and `Some(None)` if the directory cannot be locked.
fn lock_dir(data_dir: &Path) -> Option<Option<File>> {
    // The database may be a link to another directory, where another hub may use the same database.
    let real = fs::canonicalize(database_path(data_dir)).ok();
    let dir = real.as_deref().and_then(Path::parent).unwrap_or(data_dir);
    let locked = File::open(dir).map_err(TryLockError::Error);
    let locked = locked.and_then(|dir| dir.try_lock().map(|()| dir));
    match locked {
        Ok(dir) => Some(Some(dir)),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(error)) => {
            tracing::debug!(dir = %dir.display(), %error, "cannot lock the directory; its lock file must do");
            Some(None)
        }
    }
}

/// Returns the process named in the lock file, as text for people.
fn holder(lock: &Path) -> String {
    match fs::read_to_string(lock) {
        Ok(pid) if !pid.trim().is_empty() => format!(" (process {})", pid.trim()),
        _ => String::new(),
    }
}

/// Creates the database file with mode 0600 if it does not exist; SQLite gives its other files the same mode.
fn make_database(path: &Path) -> io::Result<()> {
    match create_private(path) {
        Ok(_) => sync_dir_of(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the permissions of group and others, which a careless copy may have granted.
fn make_private(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
    }
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "foreign_keys", true)
}

/// Opens the writer's connection and migrates the database. A refused database stays unchanged.
fn connect_writer(path: &Path) -> Result<Connection, StoreOpenError> {
    let sqlite = |source| StoreOpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    configure(&conn).map_err(sqlite)?;
    schema::accept(&conn, path, &schema::SCHEMA)?;
    make_private(path).map_err(|source| StoreOpenError::Unusable {
        path: path.to_owned(),
        source,
    })?;
    // This pragma works only in an empty file before the first page is written, therefore before WAL.
    conn.pragma_update(None, "auto_vacuum", "incremental")
        .map_err(sqlite)?;
    let wal =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    if wal.map_err(sqlite)? != "wal" {
        return Err(StoreOpenError::NoWal {
            path: path.to_owned(),
        });
    }
    conn.pragma_update(None, "journal_size_limit", WAL_LIMIT)
        .map_err(sqlite)?;
    schema::migrate(&mut conn, path, &schema::SCHEMA)?;
    Ok(conn)
}

/// Opens a read-only connection, which also works beside a hub in another process.
pub(crate) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    Ok(conn)
}

/// An opened data directory: its lock and its connections.
#[derive(Debug)]
pub(crate) struct OpenDataDir {
    pub(crate) lock: DirLock,
    pub(crate) path: PathBuf,
    pub(crate) writer: Connection,
    pub(crate) readers: ReaderConnections,
}

/// Opens a data directory: creates missing files, takes the [`DirLock`] and migrates the database.
pub(crate) fn open(data_dir: &Path) -> Result<OpenDataDir, StoreOpenError> {
    make_dir(data_dir).map_err(|source| StoreOpenError::Unusable {
        path: data_dir.to_owned(),
        source,
    })?;
    let lock = DirLock::take(data_dir)?;
    let path = database_path(data_dir);
    make_database(&path).map_err(|source| StoreOpenError::Unusable {
        path: path.clone(),
        source,
    })?;
    let writer = connect_writer(&path)?;
    let reader = || {
        connect_reader(&path).map_err(|source| StoreOpenError::Sqlite {
            path: path.clone(),
            source,
        })
    };
    let readers = ReaderConnections {
        by_key: reader()?,
        lists: reader()?,
    };
    Ok(OpenDataDir {
        lock,
        path,
        writer,
        readers,
    })
}
