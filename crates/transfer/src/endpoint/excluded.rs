//! Entries that are never packed: build output, the owner's private files, and files that the peer itself
//! sent.

use std::ffi::OsStr;

use crate::endpoint::{dir::starts_with, unpack::STAGING};

/// Folders with build output, which tools can create again.
const MADE: [&str; 16] = [
    "node_modules",
    "dist",
    "build",
    "target",
    "coverage",
    "__pycache__",
    ".cache",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    ".venv",
];

/// Private folders: version control data, and folders of other clients.
const PRIVATE: [&str; 4] = [".git", ".hg", ".svn", ".bridge-clients"];

/// Folder with the caller's own attachments, which the caller has already.
const SENT: &str = ".attachments";

/// Returns whether a folder of this name contains build output, which is of no use to a peer.
pub fn is_build_output(name: &OsStr) -> bool {
    MADE.iter().any(|it| name == *it)
}

/// Returns whether a folder of this name is not packed.
pub(crate) fn folder(name: &OsStr) -> bool {
    is_build_output(name) || PRIVATE.iter().any(|it| name == *it) || is_silently_excluded(name)
}

/// Returns whether a folder of this name is not packed and not reported: no peer misses it.
pub(crate) fn is_silently_excluded(name: &OsStr) -> bool {
    name == SENT || starts_with(name, STAGING)
}

/// Returns whether a file of this name is not packed: a secret of the owner, or a pointer to version control
/// data.
pub(crate) fn file(name: &OsStr) -> bool {
    name == ".git" || name == ".env" || starts_with(name, ".env.")
}
