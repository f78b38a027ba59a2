//! Rules for names in an archive, alone and in combination. Packing and unpacking apply the same rules, so
//! that no entry is sent that the peer must refuse.

use std::collections::{HashMap, hash_map::Entry};

use crate::endpoint::limits::{ArchiveLimits, MAX_DEPTH, MAX_NAME};

/// Why a name is not allowed in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntryName {
    /// The name is empty.
    #[error("is empty")]
    Empty,
    /// The path is absolute.
    #[error("is absolute")]
    Absolute,
    /// The path starts like a drive on Windows.
    #[error("begins like that of a drive")]
    Drive,
    /// The path contains `.`, `..` or an empty segment.
    #[error("leads out of the folder, or nowhere")]
    Leading,
    /// The name contains a backslash, a separator on Windows.
    #[error("has a backslash")]
    Backslash,
    /// The name contains a control character, unsafe for terminals and system calls.
    #[error("has a control character")]
    Control,
    /// The path is inside a repository's `.git`, whose hooks are executed.
    #[error("is in a .git folder")]
    Git,
    /// A segment is too long for a file name.
    #[error("is too long")]
    Long,
    /// The path has too many folders.
    #[error("is in too many folders")]
    Deep,
    /// The name occurs twice.
    #[error("is there twice")]
    Twice,
    /// The name is used by a file and by a folder.
    #[error("is a file and a folder")]
    FileAndFolder,
    /// The name exceeds the limit on files or folders.
    #[error("is one too many")]
    TooMany,
}

/// The names of an archive so far.
///
/// Names that differ only in case are distinct, as on most systems that agents run on. On a system without
/// case sensitivity, the second file fails with a conflict when it is moved to its final path.
#[derive(Debug)]
pub(crate) struct EntryNames {
    max: u64,
    files: u64,
    folders: u64,
    names: HashMap<String, EntryNode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryNode {
    File,
    Folder {
        /// Whether the archive lists the folder itself, or only its content.
        is_named: bool,
    },
}

impl EntryNames {
    pub(crate) fn new(limits: ArchiveLimits) -> Self {
        Self {
            max: limits.files,
            files: 0,
            folders: 0,
            names: HashMap::new(),
        }
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Adds the path of a file.
    pub(crate) fn file(&mut self, name: &str) -> Result<(), InvalidEntryName> {
        check(name)?;
        match self.names.get(name) {
            Some(EntryNode::File) => return Err(InvalidEntryName::Twice),
            Some(EntryNode::Folder { .. }) => return Err(InvalidEntryName::FileAndFolder),
            None if self.files == self.max => return Err(InvalidEntryName::TooMany),
            None => {}
        }
        self.folders_of(name)?;
        self.names.insert(name.to_owned(), EntryNode::File);
        self.files += 1;
        Ok(())
    }

    /// Adds the path of a folder, without trailing slash.
    pub(crate) fn folder(&mut self, name: &str) -> Result<(), InvalidEntryName> {
        check(name)?;
        self.folders_of(name)?;
        self.enter(name, true)
    }

    fn folders_of(&mut self, name: &str) -> Result<(), InvalidEntryName> {
        for (at, _) in name.match_indices('/') {
            self.enter(&name[..at], false)?;
        }
        Ok(())
    }

    fn enter(&mut self, name: &str, is_named: bool) -> Result<(), InvalidEntryName> {
        match self.names.entry(name.to_owned()) {
            Entry::Vacant(_) if self.folders == self.max => return Err(InvalidEntryName::TooMany),
            Entry::Vacant(place) => {
                place.insert(EntryNode::Folder { is_named });
                self.folders += 1;
            }
            Entry::Occupied(mut known) => match known.get_mut() {
                EntryNode::File => return Err(InvalidEntryName::FileAndFolder),
                EntryNode::Folder { is_named: true } if is_named => {
                    return Err(InvalidEntryName::Twice);
                }
                EntryNode::Folder { is_named: known } => *known |= is_named,
            },
        }
        Ok(())
    }
}

/// Validates a single path, independent of a [`EntryNames`].
pub(crate) fn check(name: &str) -> Result<(), InvalidEntryName> {
    if name.is_empty() {
        return Err(InvalidEntryName::Empty);
    }
    if name.chars().any(char::is_control) {
        return Err(InvalidEntryName::Control);
    }
    if name.contains('\\') {
        return Err(InvalidEntryName::Backslash);
    }
    let bytes = name.as_bytes();
    if bytes[0] == b'/' {
        return Err(InvalidEntryName::Absolute);
    }
    if bytes[0].is_ascii_alphabetic() && bytes.get(1) == Some(&b':') {
        return Err(InvalidEntryName::Drive);
    }
    for (at, part) in name.split('/').enumerate() {
        if at > MAX_DEPTH {
            return Err(InvalidEntryName::Deep);
        }
        match part {
            "" | "." | ".." => return Err(InvalidEntryName::Leading),
            _ if part.len() > MAX_NAME => return Err(InvalidEntryName::Long),
            _ if part.eq_ignore_ascii_case(".git") => return Err(InvalidEntryName::Git),
            _ => {}
        }
    }
    Ok(())
}
