//! A folder that is held open. What is done in it is done there, wherever its name leads by then: agents work in these
//! folders and may put links in place of anything.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

/// What only the owner may read.
const PRIVATE_DIR: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A folder that is held open.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
}

impl Dir {
    /// A folder that the owner named; links may lead to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, flags(), Mode::empty())?;
        Ok(Self { fd })
    }

    /// A folder in it, which is made if it is not there. A link is none.
    pub(crate) fn child(&self, name: &str) -> io::Result<Self> {
        match self.make(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let opened = rustix::fs::openat(&self.fd, name, flags() | OFlags::NOFOLLOW, Mode::empty());
        let fd = opened.map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => {
                io::Error::other(format!("{name} is in the way: it is no folder"))
            }
            other => other.into(),
        })?;
        Ok(Self { fd })
    }

    /// Makes a folder in it that is new.
    pub(crate) fn make(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, PRIVATE_DIR)?)
    }

    /// A file in it that is new.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, new | OFlags::NOFOLLOW, PRIVATE_FILE)?;
        Ok(fd.into())
    }

    /// The names in it.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
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
    pub(crate) fn link_at(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        match rustix::fs::readlinkat(&self.fd, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a link in it.
    pub(crate) fn link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    /// Removes a file or a link in it.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps all of it out of the project's history.
    pub(crate) fn ignore(&self) -> io::Result<()> {
        match self.create(".gitignore") {
            Ok(mut file) => io::Write::write_all(&mut file, b"*\n"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// A name as a text that can be compared, whatever its bytes are.
pub(crate) fn starts_with(name: &OsStr, prefix: &str) -> bool {
    name.as_bytes().starts_with(prefix.as_bytes())
}
