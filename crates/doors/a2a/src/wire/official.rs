//! Official protocol, versions 0.3 and 1.0.
//!
//! A single [`model`] represents both versions: [`read`] accepts either version, and
//! [`mod@write`] produces either version, where content without an equivalent is converted. Fields
//! unknown to both versions travel as [`model::Extra`] and are written again in the version of their origin.
//!
//! - [`method`]: the operations and their names
//! - [`rpc`]: the JSON-RPC envelope
//! - [`error`]: errors, with their codes in every binding
//! - [`v03_proto`]: the form of REST in 0.3

pub(crate) mod error;
pub(in crate::wire) mod fields;
pub(crate) mod method;
pub(crate) mod model;
mod names;
mod read;
pub(crate) mod rpc;
mod shape;
#[cfg(test)]
mod tests;
pub(crate) mod v03_proto;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest number of tasks per page, in every binding.
pub(crate) const MAX_PAGE: usize = 100;

/// Version of the protocol for negotiation: major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum A2aVersion {
    /// Version 0.3.
    #[serde(rename = "0.3")]
    V03,
    /// Version 1.0.
    #[serde(rename = "1.0")]
    V10,
}

impl A2aVersion {
    /// Name of the header and query parameter with the version.
    pub(crate) const HEADER: &'static str = "A2A-Version";

    /// Returns the header in which callers declare their extensions.
    pub(crate) fn extensions_header(self) -> &'static str {
        match self {
            Self::V03 => "x-a2a-extensions",
            Self::V10 => "a2a-extensions",
        }
    }

    /// Returns the name: major and minor number.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    /// Parses a name; a patch number is ignored.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut numbers = name.trim().split('.');
        let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if numbers.next().is_some() || !patch.is_none_or(is_number) {
            return None;
        }
        match (major, minor) {
            ("0", "3") => Some(Self::V03),
            ("1", "0") => Some(Self::V10),
            _ => None,
        }
    }
}

impl fmt::Display for A2aVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
