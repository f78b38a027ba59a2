//! A folder that is held open. What is done in it is done there, wherever its name leads by then: agents work in these
//! folders and may put links in place of anything.

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

/// What only the owner may read.
const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A folder that is held open.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl Dir {
    /// A folder that the owner named; links may lead to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, flags(), Mode::empty())?;
        Ok(Self { fd })
    }

    /// A folder in it, which is made if it is not there. A link is none.
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

    /// Makes a folder in it that is new.
    pub fn make(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, PRIVATE_DIR)?)
    }

    /// A file in it that is new.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.create_with(name, PRIVATE_FILE)
    }

    /// The names in it.
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

    /// Where a link in it leads; nothing if it is none.
    pub fn link_at(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        match rustix::fs::readlinkat(&self.fd, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a link in it.
    pub fn link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    /// Removes a file or a link in it.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps all of it out of the project's history.
    pub fn ignore(&self) -> io::Result<()> {
        match self.create(".gitignore") {
            Ok(mut file) => io::Write::write_all(&mut file, b"*\n"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A folder in it that is there. A link is none: the error is then of the kind `NotADirectory`.
    pub(crate) fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let flags = flags() | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.fd, name.as_ref(), flags, Mode::empty()) {
            Ok(fd) => Ok(Self { fd }),
            // What a link gives depends on the system.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a folder in it that is new and that others may see, as far as the user's mask allows it.
    pub(crate) fn make_shown(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            &self.fd,
            name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    /// A file in it that is new and that others may see, as far as the user's mask allows it.
    pub(crate) fn create_shown(&self, name: &str, is_executable: bool) -> io::Result<File> {
        let mode = if is_executable { 0o777 } else { 0o666 };
        self.create_with(name, Mode::from_raw_mode(mode))
    }

    fn create_with(&self, name: &str, mode: Mode) -> io::Result<File> {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, new | OFlags::NOFOLLOW, mode)?;
        Ok(fd.into())
    }

    /// A private file in it to read and write, new or not. A link is refused.
    pub(crate) fn open_or_create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name, flags, PRIVATE_FILE)?;
        Ok(fd.into())
    }

    /// A real file in it to read; nothing if it is none or is gone.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<Option<File>> {
        // Opening a device may do something already, so it is looked at first. What is put in its place since then is
        // seen below; a pipe does not make us wait for its other end.
        if self.kind(name)? != Some(Kind::File) {
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

    /// What a name in it stands for, without following it; nothing if it is not there.
    pub(crate) fn kind(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Kind>> {
        let stat = match rustix::fs::statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        }))
    }

    /// Whether a name in it is this very file.
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

    /// Moves an entry of it to another folder, where there must be none of that name.
    pub(crate) fn move_to(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new_name, flags) {
            // Some file systems cannot refuse by themselves.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if to.kind(new_name)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(rustix::fs::renameat(&self.fd, name, &to.fd, new_name)?)
            }
            done => Ok(done?),
        }
    }

    /// When a file in it was last written, without following it; nothing if it is not there.
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

    /// When something was last made or removed in it.
    pub(crate) fn changed(&self) -> io::Result<SystemTime> {
        File::from(self.fd.try_clone()?).metadata()?.modified()
    }

    /// Removes a folder in it that is empty.
    pub(crate) fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder in it with the files in that one.
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

/// A name as a text that can be compared, whatever its bytes are.
pub fn starts_with(name: &OsStr, prefix: &str) -> bool {
    name.as_bytes().starts_with(prefix.as_bytes())
}
