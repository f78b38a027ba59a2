//! The configuration file that nobody named. It decides which hub commands talk to and where secrets are, and it lies in a
//! folder that may be anybody's, such as `/tmp`. So it counts only if nobody but this user and root can have written it.

use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Why a configuration file that nobody named is not read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// The file is another user's.
    #[error("{} in this folder belongs to the user with the number {owner}, so it is not read", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
    },
    /// Other users can write the file.
    #[error("other users can write {} in this folder, so it is not read", path.display())]
    Writable {
        /// The file.
        path: PathBuf,
    },
}

/// Reads the file if it is to be believed.
pub(super) fn read(path: &Path) -> Result<io::Result<String>, Untrusted> {
    let mut text = String::new();
    // Looked at when it is open: nobody can put another in its place meanwhile.
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, mut file) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let user = rustix::process::geteuid().as_raw();
    if let Some(refusal) = refusal(path, user, &Writers::of(&metadata)) {
        return Err(refusal);
    }
    Ok(file.read_to_string(&mut text).map(|_| text))
}

/// Who can write a file.
#[derive(Debug, Clone, Copy)]
struct Writers {
    owner: u32,
    group: u32,
    mode: u32,
}

impl Writers {
    fn of(metadata: &Metadata) -> Self {
        Self {
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode(),
        }
    }

    /// Whether others than the owner can write it. A group with the owner's own number is the owner's alone, where each user
    /// has one.
    fn has_others(self) -> bool {
        let by_group = self.mode & 0o020 != 0 && self.group != self.owner;
        by_group || self.mode & 0o002 != 0
    }
}

/// Why `user` does not read the file.
fn refusal(path: &Path, user: u32, writers: &Writers) -> Option<Untrusted> {
    let (path, owner) = (path.to_owned(), writers.owner);
    if owner != user && owner != 0 {
        return Some(Untrusted::Foreign { path, owner });
    }
    writers.has_others().then_some(Untrusted::Writable { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_that_only_this_user_and_root_can_have_written() {
        let is_read = |owner, group, mode| {
            let writers = Writers { owner, group, mode };
            refusal(Path::new("jackfield.toml"), 1000, &writers).is_none()
        };
        assert!(is_read(1000, 1000, 0o644));
        assert!(is_read(1000, 1000, 0o664), "a group of one's own");
        assert!(is_read(0, 0, 0o644), "root's");
        assert!(!is_read(1001, 1001, 0o600), "somebody else's");
        assert!(!is_read(1000, 100, 0o664), "a group of many");
        assert!(!is_read(1000, 1000, 0o646), "anybody's");
    }
}
