//! The names of an archive: which may be in one, and how they fit together. Packing and unpacking ask the same rules, so
//! nothing is sent that the other side must refuse.

use std::collections::{HashMap, hash_map::Entry};

use crate::limits::{Limits, MAX_DEPTH, MAX_NAME};

/// Why a name may not be in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It has no letter.
    #[error("is empty")]
    Empty,
    /// It begins at the root.
    #[error("is absolute")]
    Absolute,
    /// It begins as one that leads to a drive does elsewhere.
    #[error("begins like that of a drive")]
    Drive,
    /// It has `.`, `..` or nothing between two slashes.
    #[error("leads out of the folder, or nowhere")]
    Leading,
    /// It has what is a slash elsewhere.
    #[error("has a backslash")]
    Backslash,
    /// It has what a terminal or a system call trips over.
    #[error("has a control character")]
    Control,
    /// It would become part of a repository, whose hooks are run.
    #[error("is in a .git folder")]
    Git,
    /// It is longer than names of files are.
    #[error("is too long")]
    Long,
    /// It is in too many folders.
    #[error("is in too many folders")]
    Deep,
    /// It was there before.
    #[error("is there twice")]
    Twice,
    /// It is a file's name and a folder's.
    #[error("is a file and a folder")]
    FileAndFolder,
    /// It is one too many.
    #[error("is one too many")]
    TooMany,
}

/// The names of an archive so far.
///
/// Names that differ only in case are two names, as they are on most systems that agents run on. Where they are one, the
/// second one finds the first in its way when it is put in its place.
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
        /// Whether the archive names it, or only what is in it.
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

    /// How many files there are.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Takes the name of a file.
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

    /// Takes the name of a folder, without the slash behind it.
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

/// Whether a name may be in an archive.
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
