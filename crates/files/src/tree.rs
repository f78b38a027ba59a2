//! Rules for names in an archive, alone and in combination. Packing and unpacking apply the same rules, so
//! that no entry is sent that the peer must refuse.

use std::collections::{HashMap, hash_map::Entry};

use crate::limits::{Limits, MAX_DEPTH, MAX_NAME};

/// Why a name is not allowed in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
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
pub(crate) struct Tree {
    max: u64,
    files: u64,
    folders: u64,
    names: HashMap<String, Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File,
    Folder {
        /// Whether the archive lists the folder itself, or only its content.
        is_named: bool,
    },
}

impl Tree {
    pub(crate) fn new(limits: Limits) -> Self {
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
    pub(crate) fn file(&mut self, name: &str) -> Result<(), BadName> {
        check(name)?;
        match self.names.get(name) {
            Some(Node::File) => return Err(BadName::Twice),
            Some(Node::Folder { .. }) => return Err(BadName::FileAndFolder),
            None if self.files == self.max => return Err(BadName::TooMany),
            None => {}
        }
        self.folders_of(name)?;
        self.names.insert(name.to_owned(), Node::File);
        self.files += 1;
        Ok(())
    }

    /// Adds the path of a folder, without trailing slash.
    pub(crate) fn folder(&mut self, name: &str) -> Result<(), BadName> {
        check(name)?;
        self.folders_of(name)?;
        self.enter(name, true)
    }

    fn folders_of(&mut self, name: &str) -> Result<(), BadName> {
        for (at, _) in name.match_indices('/') {
            self.enter(&name[..at], false)?;
        }
        Ok(())
    }

    fn enter(&mut self, name: &str, is_named: bool) -> Result<(), BadName> {
        match self.names.entry(name.to_owned()) {
            Entry::Vacant(_) if self.folders == self.max => return Err(BadName::TooMany),
            Entry::Vacant(place) => {
                place.insert(Node::Folder { is_named });
                self.folders += 1;
            }
            Entry::Occupied(mut known) => match known.get_mut() {
                Node::File => return Err(BadName::FileAndFolder),
                Node::Folder { is_named: true } if is_named => return Err(BadName::Twice),
                Node::Folder { is_named: known } => *known |= is_named,
            },
        }
        Ok(())
    }
}

/// Validates a single path, independent of a [`Tree`].
pub(crate) fn check(name: &str) -> Result<(), BadName> {
    if name.is_empty() {
        return Err(BadName::Empty);
    }
    if name.chars().any(char::is_control) {
        return Err(BadName::Control);
    }
    if name.contains('\\') {
        return Err(BadName::Backslash);
    }
    let bytes = name.as_bytes();
    if bytes[0] == b'/' {
        return Err(BadName::Absolute);
    }
    if bytes[0].is_ascii_alphabetic() && bytes.get(1) == Some(&b':') {
        return Err(BadName::Drive);
    }
    for (at, part) in name.split('/').enumerate() {
        if at > MAX_DEPTH {
            return Err(BadName::Deep);
        }
        match part {
            "" | "." | ".." => return Err(BadName::Leading),
            _ if part.len() > MAX_NAME => return Err(BadName::Long),
            _ if part.eq_ignore_ascii_case(".git") => return Err(BadName::Git),
            _ => {}
        }
    }
    Ok(())
}
