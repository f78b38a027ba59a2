//! Unpacks an archive from an untrusted peer. The archive is validated first. Its files are then created in a
//! staging folder inside the target, and moved to their final paths only when all are complete. Any error
//! leaves the target unchanged.

mod place;
mod staging;

use std::{fs::File, io, path::Path};

use self::{
    place::{PlacementPlan, move_all},
    staging::{CreatedFolders, Staging},
};
use crate::endpoint::{
    archive::Archive,
    dir::Dir,
    limits::ArchiveLimits,
    names::{NAMED, list},
    work::{CancelFlag, blocking},
    zip::{self, ContentError, InvalidArchive, ZipEntry},
};

pub(crate) use self::staging::PREFIX as STAGING;

/// Handling of a file that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Keeps the existing file. Unless its content is equal, nothing is unpacked.
    Refuse,
    /// Replaces the existing file. A link is replaced itself, not its target; a folder is never replaced.
    Replace,
}

/// Result of [`unpack`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Paths of the files, relative to the folder.
    pub files: Vec<String>,
    /// Total size of the files.
    pub bytes: u64,
}

/// Why nothing was unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive is invalid.
    #[error("the archive is refused: {0}")]
    Refused(#[from] InvalidArchive),
    /// The content of a file does not match the archive's directory.
    #[error("the archive is refused: {name:?} {why}")]
    Content {
        /// Name of the file.
        name: String,
        /// Problem with the content.
        why: String,
    },
    /// Existing entries are in the way.
    #[error("{} in the way: {}; nothing was changed", if names.len() == 1 && *more == 0 { "a file is" } else { "files are" }, quoted(names, *more))]
    InTheWay {
        /// Names of the first five.
        names: Vec<String>,
        /// Number of further entries.
        more: usize,
    },
    /// The files cannot be written.
    #[error("cannot unpack into the folder: {0}")]
    Folder(#[from] io::Error),
}

/// Unpacks an [`Archive`] into a folder, which is created if missing.
///
/// Only the executable bit of a file's mode is applied. Links in the folder are not followed. Either all
/// files are unpacked or none, even if the future is dropped: the work then ends soon.
pub async fn unpack(
    archive: &Archive,
    into: &Path,
    clash: ConflictPolicy,
    limits: ArchiveLimits,
) -> Result<Unpacked, UnpackError> {
    let (file, offered, into) = (archive.file(), archive.file_count(), into.to_owned());
    blocking(move |wanted| unpack_file(&file, offered, &into, clash, limits, wanted)).await?
}

/// Like [`unpack`], for an archive without a transfer. `wanted` cancels the work.
pub(crate) fn unpack_file(
    file: &File,
    offered: u64,
    into: &Path,
    clash: ConflictPolicy,
    limits: ArchiveLimits,
    wanted: &CancelFlag,
) -> Result<Unpacked, UnpackError> {
    let entries = zip::read(file, offered, limits)?;
    let made = CreatedFolders::folder(into)?;
    let root = Dir::open(into)?;
    let plan = PlacementPlan::of(&root, &entries, clash)?;
    let staging = Staging::new(&root)?;
    for (at, entry) in entries.iter().enumerate() {
        if !entry.is_folder {
            stage(file, entry, staging.dir(), at, wanted)?;
        }
    }
    plan.compare(&root, staging.dir(), &entries, wanted)?;
    // Last point for cancellation: moving is short and always runs to its end.
    wanted.check()?;
    move_all(&root, staging.dir(), &entries, &plan)?;
    made.keep();
    Ok(unpacked(entries))
}

/// Creates one file in the staging folder.
fn stage(
    archive: &File,
    entry: &ZipEntry,
    staging: &Dir,
    at: usize,
    wanted: &CancelFlag,
) -> Result<(), UnpackError> {
    let file = staging.create_shared(&at.to_string(), entry.is_executable)?;
    zip::copy(archive, entry, &file, wanted).map_err(|why| match why {
        ContentError::Io(error) => UnpackError::Folder(error),
        why => UnpackError::Content {
            name: entry.name.clone(),
            why: why.to_string(),
        },
    })?;
    if let Some(changed) = entry.changed.and_then(|time| u64::try_from(time).ok()) {
        let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(changed);
        file.set_modified(changed)?;
    }
    Ok(())
}

fn unpacked(entries: Vec<ZipEntry>) -> Unpacked {
    let bytes = entries.iter().map(|entry| entry.unpacked).sum();
    let files = entries.into_iter().filter(|entry| !entry.is_folder);
    Unpacked {
        files: files.map(|entry| entry.name).collect(),
        bytes,
    }
}

fn conflict_error(mut names: Vec<String>) -> UnpackError {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    UnpackError::InTheWay { names, more }
}

fn quoted(names: &[String], more: usize) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    list(&names, more)
}
