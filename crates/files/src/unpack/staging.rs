//! Folders that are gone again if the work is not done to its end.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tracing::warn;
use uuid::Uuid;

use super::place::OLD;
use crate::dir::{Dir, starts_with};

/// How the names of the folders begin in which files wait.
pub(crate) const PREFIX: &str = ".jackfield-unpack-";

/// How long a folder stays that a killed process left.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder in the target where files wait. It is there, and not elsewhere, since only within one file system things can
/// be moved and not copied. It is removed in any case.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    root: &'a Dir,
    name: String,
    dir: Dir,
}

impl<'a> Staging<'a> {
    pub(super) fn new(root: &'a Dir) -> io::Result<Self> {
        sweep(root);
        let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
        root.make(&name)?;
        let dir = root.folder(&name)?;
        Ok(Self { root, name, dir })
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.root.remove_with_files(&self.name) {
            warn!(%error, name = self.name, "a folder that is no longer needed cannot be removed");
        }
    }
}

/// Removes the folders that were left by processes that were killed. Where something waits that was to be replaced, it may be
/// the only copy: that stays.
fn sweep(root: &Dir) {
    let swept = root.names().and_then(|names| {
        for name in names.iter().filter(|name| starts_with(name, PREFIX)) {
            let Some(name) = name.to_str() else { continue };
            let Ok(folder) = root.folder(name) else {
                continue;
            };
            let age = SystemTime::now().duration_since(folder.changed()?);
            let is_kept = folder.names()?.iter().any(|name| starts_with(name, OLD));
            if !is_kept && age.is_ok_and(|age| age > KEPT) {
                root.remove_with_files(name)?;
            }
        }
        Ok(())
    });
    if let Err(error) = swept {
        warn!(%error, "a folder of an earlier unpacking cannot be removed");
    }
}

/// The folders that had to be made for the target, removed again unless they are kept.
#[derive(Debug)]
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    pub(super) fn folder(path: &Path) -> io::Result<Self> {
        let missing = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
        let mut made = Self(Vec::new());
        while let Some(folder) = missing.pop() {
            match fs::create_dir(&folder) {
                Ok(()) => made.0.push(folder),
                // Somebody else was faster; then it is theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        while let Some(folder) = self.0.pop() {
            // If somebody put something there meanwhile, it stays.
            if let Err(error) = fs::remove_dir(&folder) {
                warn!(%error, "a folder that was made to unpack into is left");
                return;
            }
        }
    }
}
