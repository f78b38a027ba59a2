//! The queue's folder, shared by the processes of a machine, and the operations under its lock.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::numbers::WaitingNumbers;

/// Extension of a member's file with waiting numbers.
const LINE: &str = "line";

/// The queue's folder.
#[derive(Debug)]
pub(super) struct QueueFolder {
    dir: PathBuf,
}

impl QueueFolder {
    pub(super) fn open(dir: PathBuf) -> io::Result<Self> {
        for part in ["members", "places"] {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(dir.join(part))?;
        }
        Ok(Self { dir })
    }

    /// Locks the folder; returns `None` if a different process holds the lock.
    pub(super) fn try_lock(&self) -> io::Result<Option<LockedFolder<'_>>> {
        let lock = try_lock(&self.dir.join("lock"))?;
        Ok(lock.map(|lock| LockedFolder {
            dir: &self.dir,
            _lock: lock,
        }))
    }
}

/// The locked folder.
#[derive(Debug)]
pub(super) struct LockedFolder<'a> {
    dir: &'a Path,
    _lock: File,
}

impl LockedFolder<'_> {
    /// Registers this process as a member, once.
    pub(super) fn join(&self, line: &mut WaitingNumbers) -> io::Result<()> {
        if line.member().is_some() {
            return Ok(());
        }
        let path = self
            .dir
            .join("members")
            .join(self.next_number()?.to_string());
        let lock = try_lock(&path)?.ok_or_else(|| io::Error::other("a new file is locked"))?;
        line.set_member(QueueMember { path, _lock: lock });
        Ok(())
    }

    /// Returns a number that was never assigned before.
    pub(super) fn next_number(&self) -> io::Result<u64> {
        let path = self.dir.join("number");
        let last = match fs::read_to_string(&path) {
            // The file may be empty after a power loss. No living process has a number then, so counting may
            // restart.
            Ok(text) => text.trim().parse().unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let next: u64 = last + 1;
        let draft = self.dir.join("number.new");
        fs::write(&draft, next.to_string())?;
        fs::rename(draft, path)?;
        Ok(next)
    }

    /// Returns how many messages wait in other processes.
    pub(super) fn others_waiting(&self, own: &WaitingNumbers) -> io::Result<usize> {
        Ok(self.others(own)?.len())
    }

    /// Returns whether a message in a different process has a lower number.
    pub(super) fn has_lower_number(&self, number: u64, own: &WaitingNumbers) -> io::Result<bool> {
        let others = self.others(own)?;
        Ok(others.into_iter().any(|other| other < number))
    }

    /// Returns the numbers waiting in other processes. Removes the files of dead processes.
    fn others(&self, own: &WaitingNumbers) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(self.dir.join("members"))? {
            let path = entry?.path();
            let is_own = own.member().is_some_and(|member| member.path == path);
            if path.extension().is_some() || is_own {
                continue;
            }
            let line = path.with_extension(LINE);
            if try_lock(&path)?.is_some() {
                for left in [&line, &draft(&path), &path] {
                    remove(left)?;
                }
                continue;
            }
            match fs::read_to_string(line) {
                Ok(text) => numbers.extend(text.lines().filter_map(|it| it.parse::<u64>().ok())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(numbers)
    }

    /// Returns a locked slot, if fewer than `active` slots are taken.
    pub(super) fn free_slot(&self, active: usize) -> io::Result<Option<File>> {
        let (mut known, mut taken, mut free) = (0, 0, None);
        let places = self.dir.join("places");
        for entry in fs::read_dir(&places)? {
            known += 1;
            match try_lock(&entry?.path())? {
                None => taken += 1,
                Some(file) => free = free.or(Some(file)),
            }
        }
        if taken >= active {
            return Ok(None);
        }
        if free.is_some() {
            return Ok(free);
        }
        // At least one of these names is unused.
        for name in 0..=known {
            if let Some(file) = try_lock(&places.join(name.to_string()))? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// This process's membership in the queue, removed on drop.
#[derive(Debug)]
pub(super) struct QueueMember {
    path: PathBuf,
    _lock: File,
}

impl QueueMember {
    /// Path of the file with the waiting numbers.
    pub(super) fn line(&self) -> PathBuf {
        self.path.with_extension(LINE)
    }

    /// Path of the temporary file for a new list of numbers.
    pub(super) fn draft(&self) -> PathBuf {
        draft(&self.path)
    }
}

fn draft(path: &Path) -> PathBuf {
    path.with_extension("new")
}

impl Drop for QueueMember {
    fn drop(&mut self) {
        // Files that remain are removed by the next process that looks.
        for left in [self.line(), self.draft(), self.path.clone()] {
            remove(&left).ok();
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file and locks it; the lock ends when the file is closed. Returns `None` if the lock is held
/// elsewhere.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
