//! Check of the default configuration file, which was not named explicitly. The file decides which hub
//! commands talk to and where secrets are, and may lie in a folder that every user can write, such as `/tmp`.
//! Therefore the file is used only if nobody but this user and root can have written it.

use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Reason not to read the default configuration file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedConfigFile {
    /// The file belongs to another user.
    #[error("{} in this folder belongs to the user with the id {owner}, so it is not read", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// User id of the file's owner.
        owner: u32,
    },
    /// Other users can write the file.
    #[error("other users can write {} in this folder, so it is not read", path.display())]
    Writable {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Reads the file, unless [`UntrustedConfigFile`].
pub(super) fn read_trusted(path: &Path) -> Result<io::Result<String>, UntrustedConfigFile> {
    let mut text = String::new();
    // The metadata are read from the open file, so that no other user can replace the file in between.
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, mut file) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let user = rustix::process::geteuid().as_raw();
    if let Some(refusal) = refusal(path, user, &FilePermissions::of(&metadata)) {
        return Err(refusal);
    }
    Ok(file.read_to_string(&mut text).map(|_| text))
}

/// Owner, group and mode of a file: the users who can write the file.
#[derive(Debug, Clone, Copy)]
struct FilePermissions {
    owner: u32,
    group: u32,
    mode: u32,
}

impl FilePermissions {
    fn of(metadata: &Metadata) -> Self {
        Self {
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode(),
        }
    }

    /// Returns whether users besides the owner can write the file. A group whose id equals the owner's id
    /// contains only the owner, on systems with one group per user.
    fn others_can_write(self) -> bool {
        let by_group = self.mode & 0o020 != 0 && self.group != self.owner;
        by_group || self.mode & 0o002 != 0
    }
}

/// Returns why `user` must not read the file.
fn refusal(path: &Path, user: u32, writers: &FilePermissions) -> Option<UntrustedConfigFile> {
    let (path, owner) = (path.to_owned(), writers.owner);
    if owner != user && owner != 0 {
        return Some(UntrustedConfigFile::Foreign { path, owner });
    }
    writers
        .others_can_write()
        .then_some(UntrustedConfigFile::Writable { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_that_only_this_user_and_root_can_have_written() {
        let is_read = |owner, group, mode| {
            let writers = FilePermissions { owner, group, mode };
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
