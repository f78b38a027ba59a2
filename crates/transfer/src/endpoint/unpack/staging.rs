//! Folders that are removed on drop unless the work completes.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tracing::warn;
use uuid::Uuid;

use super::place::OLD;
use crate::endpoint::dir::{Dir, starts_with};

/// Prefix of staging folders.
pub(crate) const PREFIX: &str = ".jackfield-unpack-";

/// Age after which a staging folder of a killed process is removed.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Staging folder inside the target, where files can be moved instead of copied because the file system is
/// the same. Always removed on drop.
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

/// Removes staging folders of killed processes. A folder with a replaced file stays, because the file may be
/// the only copy.
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

/// Folders that were created for the target, removed on drop unless kept.
#[derive(Debug)]
pub(super) struct CreatedFolders(Vec<PathBuf>);

impl CreatedFolders {
    pub(super) fn folder(path: &Path) -> io::Result<Self> {
        let missing = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
        let mut made = Self(Vec::new());
        while let Some(folder) = missing.pop() {
            match fs::create_dir(&folder) {
                Ok(()) => made.0.push(folder),
                // Created concurrently, so not ours to remove.
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

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        while let Some(folder) = self.0.pop() {
            // A folder that is no longer empty stays.
            if let Err(error) = fs::remove_dir(&folder) {
                warn!(%error, "a folder that was made to unpack into is left");
                return;
            }
        }
    }
}
