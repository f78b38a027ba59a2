//! Unpacks an archive that a stranger made. Everything that can be judged beforehand is; then its files are made in a
//! folder of their own inside the target, and moved to their places only when all of them are there. Any error leaves the
//! target as it was.

mod place;
mod staging;

use std::{fs::File, io, path::Path};

use self::{
    place::{Plan, put},
    staging::{Made, Staging},
};
use crate::{
    archive::Archive,
    dir::Dir,
    limits::Limits,
    names::{NAMED, list},
    work::{Wanted, blocking},
    zip::{self, BadArchive, Broken, Entry},
};

pub(crate) use self::staging::PREFIX as STAGING;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// It stays; unless it has the same content, nothing is unpacked.
    Refuse,
    /// It is replaced. A link is replaced itself, not what it leads to; a folder is never replaced.
    Replace,
}

/// What was unpacked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// The files, by their names in the folder.
    pub files: Vec<String>,
    /// How many bytes they have together.
    pub bytes: u64,
}

/// Why nothing was unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive may not be unpacked.
    #[error("the archive is refused: {0}")]
    Refused(#[from] BadArchive),
    /// The content of a file is not what the archive says.
    #[error("the archive is refused: {name:?} {why}")]
    Content {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is something where files should go.
    #[error("{} in the way: {}; nothing was changed", if names.len() == 1 && *more == 0 { "a file is" } else { "files are" }, quoted(names, *more))]
    InTheWay {
        /// The first five.
        names: Vec<String>,
        /// How many more.
        more: usize,
    },
    /// The files cannot be written.
    #[error("cannot unpack into the folder: {0}")]
    Folder(#[from] io::Error),
}

/// Unpacks an archive into a folder, which is made if it is not there.
///
/// Of a file's mode only one thing is taken over: whether it can be executed. Links in the folder are not followed.
/// Files come all or not at all, also if the future is dropped: then the work ends soon.
pub async fn unpack(
    archive: &Archive,
    into: &Path,
    clash: Clash,
    limits: Limits,
) -> Result<Unpacked, UnpackError> {
    let (file, offered, into) = (archive.file(), archive.file_count(), into.to_owned());
    blocking(move |wanted| unpack_file(&file, offered, &into, clash, limits, wanted)).await?
}

/// The same with an archive that was not received, and while somebody waits for it.
pub(crate) fn unpack_file(
    file: &File,
    offered: u64,
    into: &Path,
    clash: Clash,
    limits: Limits,
    wanted: &Wanted,
) -> Result<Unpacked, UnpackError> {
    let entries = zip::read(file, offered, limits)?;
    let made = Made::folder(into)?;
    let root = Dir::open(into)?;
    let plan = Plan::of(&root, &entries, clash)?;
    let staging = Staging::new(&root)?;
    for (at, entry) in entries.iter().enumerate() {
        if !entry.is_folder {
            stage(file, entry, staging.dir(), at, wanted)?;
        }
    }
    plan.compare(&root, staging.dir(), &entries, wanted)?;
    // The last moment to turn back: moving is short, and is done to the end.
    wanted.check()?;
    put(&root, staging.dir(), &entries, &plan)?;
    made.keep();
    Ok(unpacked(entries))
}

/// Makes one file in the folder where files wait.
fn stage(
    archive: &File,
    entry: &Entry,
    staging: &Dir,
    at: usize,
    wanted: &Wanted,
) -> Result<(), UnpackError> {
    let file = staging.create_shown(&at.to_string(), entry.is_executable)?;
    zip::copy(archive, entry, &file, wanted).map_err(|why| match why {
        Broken::Io(error) => UnpackError::Folder(error),
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

fn unpacked(entries: Vec<Entry>) -> Unpacked {
    let bytes = entries.iter().map(|entry| entry.unpacked).sum();
    let files = entries.into_iter().filter(|entry| !entry.is_folder);
    Unpacked {
        files: files.map(|entry| entry.name).collect(),
        bytes,
    }
}

fn in_the_way(mut names: Vec<String>) -> UnpackError {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    UnpackError::InTheWay { names, more }
}

fn quoted(names: &[String], more: usize) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    list(&names, more)
}
