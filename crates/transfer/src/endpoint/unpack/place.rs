//! Moves staged files to their final paths: all or none. Replaced files stay in the staging folder until
//! success is certain.

#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
};

use tracing::error;

use super::{ConflictPolicy, UnpackError, conflict_error};
use crate::endpoint::{
    dir::{Dir, EntryKind},
    work::CancelFlag,
    zip::ZipEntry,
};

/// Entries that need more than a move in [`move_all`].
#[derive(Debug)]
pub(super) struct PlacementPlan {
    /// Indexes of entries that replace an existing file.
    replaced: Vec<usize>,
    /// Indexes of entries with an existing file of equal size, which stays if the content is equal.
    there: Vec<usize>,
}

/// State of a final path.
enum PathState {
    Nothing,
    Entry(EntryKind),
    /// A parent exists and is not a folder.
    Blocked(String),
}

impl PlacementPlan {
    /// Examines the final paths. Returns an error if a path is taken.
    pub(super) fn of(
        root: &Dir,
        entries: &[ZipEntry],
        clash: ConflictPolicy,
    ) -> Result<Self, UnpackError> {
        let (mut replaced, mut there) = (Vec::new(), Vec::new());
        let mut taken = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            match (find(root, &entry.name)?, entry.is_folder) {
                (PathState::Nothing, _) | (PathState::Entry(EntryKind::Folder), true) => {}
                (PathState::Entry(EntryKind::File | EntryKind::Link | EntryKind::Other), false)
                    if clash == ConflictPolicy::Replace =>
                {
                    replaced.push(at);
                }
                (PathState::Entry(EntryKind::File), false)
                    if open(root, &entry.name)?.is_some_and(|(_, size)| size == entry.unpacked) =>
                {
                    there.push(at);
                }
                (PathState::Entry(_), _) => taken.push(entry.name.clone()),
                (PathState::Blocked(folder), _) if taken.contains(&folder) => {}
                (PathState::Blocked(folder), _) => taken.push(folder),
            }
        }
        if taken.is_empty() {
            Ok(Self { replaced, there })
        } else {
            Err(conflict_error(taken))
        }
    }

    /// Compares staged files with existing files. Returns an error if any differ.
    pub(super) fn compare(
        &self,
        root: &Dir,
        staging: &Dir,
        entries: &[ZipEntry],
        wanted: &CancelFlag,
    ) -> Result<(), UnpackError> {
        let mut taken = Vec::new();
        for &at in &self.there {
            let name = &entries[at].name;
            let waits = staging.read(at.to_string().as_ref())?;
            let is_same = match (open(root, name)?, waits) {
                (Some((there, _)), Some(waits)) => is_same(there, waits, wanted)?,
                _ => false,
            };
            if !is_same {
                taken.push(name.clone());
            }
        }
        match taken.is_empty() {
            true => Ok(()),
            false => Err(conflict_error(taken)),
        }
    }
}

/// Opens a readable regular file below the root, with its size.
fn open(root: &Dir, name: &str) -> io::Result<Option<(File, u64)>> {
    let (above, last) = split(name);
    match walk(root, above)?.read(last.as_ref()) {
        Ok(Some(file)) => {
            let size = file.metadata()?.len();
            Ok(Some((file, size)))
        }
        // An unreadable file counts as different.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        other => other.map(|_| None),
    }
}

fn is_same(one: File, other: File, wanted: &CancelFlag) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        wanted.check()?;
        let (here, there) = (one.fill_buf()?, other.fill_buf()?);
        let len = here.len().min(there.len());
        if len == 0 || here[..len] != there[..len] {
            return Ok(here.len() == there.len() && len == 0);
        }
        one.consume(len);
        other.consume(len);
    }
}

fn find(root: &Dir, name: &str) -> io::Result<PathState> {
    let mut dir = root.folder(".")?;
    for (at, _) in name.match_indices('/') {
        let (_, folder) = split(&name[..at]);
        dir = match dir.folder(folder) {
            Ok(inner) => inner,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathState::Nothing),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(PathState::Blocked(name[..at].to_owned()));
            }
            Err(error) => return Err(error),
        };
    }
    Ok(match dir.kind(split(name).1)? {
        None => PathState::Nothing,
        Some(kind) => PathState::Entry(kind),
    })
}

/// A completed step of [`move_all`], undone in reverse order.
enum PlacementStep<'a> {
    /// The existing file was moved to the staging folder.
    Cleared { at: usize, name: &'a str },
    /// The folder was created.
    Made(&'a str),
    /// The file was moved to its final path.
    Placed(&'a str),
}

/// Moves the staged files to their final paths and creates folders. Undoes all steps if one fails.
pub(super) fn move_all(
    root: &Dir,
    staging: &Dir,
    entries: &[ZipEntry],
    plan: &PlacementPlan,
) -> Result<(), UnpackError> {
    let mut steps = Vec::new();
    let done = run_steps(root, staging, entries, plan, &mut steps);
    if done.is_err() {
        for step in steps.iter().rev() {
            if let Err(error) = undo(root, staging, step) {
                error!(%error, "unpacking failed, and a file cannot be brought back to what it was");
            }
        }
    }
    done
}

fn run_steps<'a>(
    root: &Dir,
    staging: &Dir,
    entries: &'a [ZipEntry],
    plan: &PlacementPlan,
    steps: &mut Vec<PlacementStep<'a>>,
) -> Result<(), UnpackError> {
    for &at in &plan.replaced {
        let name = entries[at].name.as_str();
        let (above, last) = split(name);
        match walk(root, above)?.move_to(last, staging, &old(at)) {
            // The file has vanished.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => {
                moved?;
                steps.push(PlacementStep::Cleared { at, name });
            }
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        let name = entry.name.as_str();
        let (above, last) = split(name);
        if entry.is_folder {
            make(root, name, steps)?;
            continue;
        }
        if plan.there.contains(&at) {
            continue;
        }
        let folder = make(root, above, steps)?;
        match staging.move_to(&at.to_string(), &folder, last) {
            // Created concurrently, or the file system treats two names as equal.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(conflict_error(vec![name.to_owned()]));
            }
            moved => moved?,
        }
        steps.push(PlacementStep::Placed(name));
    }
    Ok(())
}

/// Opens a folder below the root; creates missing folders.
fn make<'a>(
    root: &Dir,
    path: &'a str,
    steps: &mut Vec<PlacementStep<'a>>,
) -> Result<Dir, UnpackError> {
    let mut dir = root.folder(".")?;
    if path.is_empty() {
        return Ok(dir);
    }
    let ends = path.match_indices('/').map(|(at, _)| at);
    for end in ends.chain([path.len()]) {
        let (_, name) = split(&path[..end]);
        match dir.make_shared(name) {
            Ok(()) => steps.push(PlacementStep::Made(&path[..end])),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        dir = match dir.folder(name) {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(conflict_error(vec![path[..end].to_owned()]));
            }
            opened => opened?,
        };
    }
    Ok(dir)
}

fn undo(root: &Dir, staging: &Dir, step: &PlacementStep<'_>) -> io::Result<()> {
    match *step {
        PlacementStep::Cleared { at, name } => {
            let (above, last) = split(name);
            staging.move_to(&old(at), &walk(root, above)?, last)
        }
        PlacementStep::Made(name) => {
            let (above, last) = split(name);
            walk(root, above)?.remove_empty(last)
        }
        PlacementStep::Placed(name) => {
            let (above, last) = split(name);
            walk(root, above)?.remove(last.as_ref())
        }
    }
}

/// Opens an existing folder below the root.
fn walk(root: &Dir, path: &str) -> io::Result<Dir> {
    let mut dir = root.folder(".")?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        dir = dir.folder(name)?;
    }
    Ok(dir)
}

/// Splits a path into its parent and its last segment.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

/// Prefix of replaced files in the staging folder.
pub(super) const OLD: &str = "old-";

fn old(at: usize) -> String {
    format!("{OLD}{at}")
}
