//! An open folder. Operations apply to the folder itself, regardless of where its path leads by then: agents
//! work in these folders and may replace any entry by a link.

#[cfg(test)]
mod tests;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};

/// Modes of folders and files that only the owner may access.
const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open folder.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

/// Type of an entry in a [`Dir`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Dir {
    /// Opens a folder that the owner named; the path may contain links.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, flags(), Mode::empty())?;
        Ok(Self { fd })
    }

    /// Opens a subfolder, which is created if missing. A link is refused.
    pub fn child(&self, name: &str) -> io::Result<Self> {
        match self.make(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.folder(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                io::Error::other(format!("{name} is in the way: it is no folder"))
            }
            _ => error,
        })
    }

    /// Creates a new subfolder.
    pub fn make(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, PRIVATE_DIR)?)
    }

    /// Creates a new file.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.create_with(name, PRIVATE_FILE)
    }

    /// Returns the names of the entries.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Returns the target of a link; `None` if the entry is not a link.
    pub fn link_at(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        match rustix::fs::readlinkat(&self.fd, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a symbolic link.
    pub fn link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    /// Removes a file or a link; succeeds if missing.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Excludes the folder's content from version control with a `.gitignore`.
    pub fn ignore(&self) -> io::Result<()> {
        match self.create(".gitignore") {
            Ok(mut file) => io::Write::write_all(&mut file, b"*\n"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Opens an existing subfolder. A link is refused with an error of the kind
    /// [`NotADirectory`](io::ErrorKind::NotADirectory).
    pub(crate) fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let flags = flags() | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.fd, name.as_ref(), flags, Mode::empty()) {
            Ok(fd) => Ok(Self { fd }),
            // The error for a link depends on the system.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a new subfolder that other users may see, subject to the umask.
    pub(crate) fn make_shared(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            &self.fd,
            name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    /// Creates a new file that other users may see, subject to the umask.
    pub(crate) fn create_shared(&self, name: &str, is_executable: bool) -> io::Result<File> {
        let mode = if is_executable { 0o777 } else { 0o666 };
        self.create_with(name, Mode::from_raw_mode(mode))
    }

    fn create_with(&self, name: &str, mode: Mode) -> io::Result<File> {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, new | OFlags::NOFOLLOW, mode)?;
        Ok(fd.into())
    }

    /// Opens a private file for reading and writing; creates it if missing. A link is refused.
    pub(crate) fn open_or_create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name, flags, PRIVATE_FILE)?;
        Ok(fd.into())
    }

    /// Opens a regular file for reading; `None` if the entry is missing or of a different type.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<Option<File>> {
        // Opening a device may have side effects, so the type is checked first. The check below detects a
        // replacement in between, and NONBLOCK avoids waiting for the other end of a pipe.
        if self.kind(name)? != Some(EntryKind::File) {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file: File = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd.into(),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Returns the type of an entry, without following a link; `None` if missing.
    pub(crate) fn kind(&self, name: impl AsRef<OsStr>) -> io::Result<Option<EntryKind>> {
        let stat = match rustix::fs::statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        }))
    }

    /// Returns whether a name refers to this very file.
    pub(crate) fn is_name_of(&self, name: &str, file: &File) -> io::Result<bool> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => {
                let file = rustix::fs::fstat(file)?;
                Ok((named.st_dev, named.st_ino) == (file.st_dev, file.st_ino))
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves an entry to a different folder, in which the new name must be unused.
    pub(crate) fn move_to(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new_name, flags) {
            // Some file systems do not support NOREPLACE.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if to.kind(new_name)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(rustix::fs::renameat(&self.fd, name, &to.fd, new_name)?)
            }
            done => Ok(done?),
        }
    }

    /// Returns the modification time of an entry, without following a link; `None` if missing.
    pub(crate) fn changed_at(&self, name: &OsStr) -> io::Result<Option<SystemTime>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
                let part = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
                Ok(Some(UNIX_EPOCH + Duration::new(seconds, part)))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns when an entry of the folder was last created or removed.
    pub(crate) fn changed(&self) -> io::Result<SystemTime> {
        File::from(self.fd.try_clone()?).metadata()?.modified()
    }

    /// Removes an empty subfolder.
    pub(crate) fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a subfolder with its files.
    pub(crate) fn remove_with_files(&self, name: &str) -> io::Result<()> {
        let folder = self.folder(name)?;
        for inner in folder.names()? {
            folder.remove(&inner)?;
        }
        self.remove_empty(name)
    }
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// Returns whether a name starts with `prefix`, for arbitrary bytes.
pub fn starts_with(name: &OsStr, prefix: &str) -> bool {
    name.as_bytes().starts_with(prefix.as_bytes())
}
