//! What is never packed: what tools make, what is the owner's alone, and what came from the other side.

use std::ffi::OsStr;

use crate::{dir::starts_with, unpack::STAGING};

/// Folders that tools make and can make again.
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

/// Folders that are not the other side's: histories, and the folders of other clients.
const PRIVATE: [&str; 4] = [".git", ".hg", ".svn", ".bridge-clients"];

/// The folder of what the caller itself sent with its messages, which it has already.
const SENT: &str = ".attachments";

/// Whether tools make a folder of this name: its content is in nobody's way and of no use elsewhere.
pub fn is_made_by_tools(name: &OsStr) -> bool {
    MADE.iter().any(|it| name == *it)
}

/// Whether a folder of this name is left out.
pub(crate) fn folder(name: &OsStr) -> bool {
    is_made_by_tools(name) || PRIVATE.iter().any(|it| name == *it) || is_passed_over(name)
}

/// Whether a folder of this name is left out without a word: nobody misses it.
pub(crate) fn is_passed_over(name: &OsStr) -> bool {
    name == SENT || starts_with(name, STAGING)
}

/// Whether a file of this name is left out: secrets of the owner, and the pointer to a history.
pub(crate) fn file(name: &OsStr) -> bool {
    name == ".git" || name == ".env" || starts_with(name, ".env.")
}
