//! The official protocol, in its versions 0.3 and 1.0.
//!
//! One [`model`] stands for both: what is read of either version becomes it (`read`), and it is written in either
//! (`write`), where what a version cannot say is folded. Fields that neither knows travel along as [`model::Extra`] and
//! come out again in the version that they came in.
//!
//! - [`method`] the operations and their names
//! - [`rpc`] the JSON-RPC envelope
//! - [`error`] what goes wrong, with its codes in every binding
//! - [`v03_proto`] how REST of 0.3 looks

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

/// A version of the protocol, as far as it is negotiated: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// 0.3
    #[serde(rename = "0.3")]
    V03,
    /// 1.0
    #[serde(rename = "1.0")]
    V10,
}

impl Version {
    /// The header, and the query parameter, that names it.
    pub(crate) const HEADER: &'static str = "A2A-Version";

    /// The header in which callers declare the extensions that they know.
    pub(crate) fn extensions_header(self) -> &'static str {
        match self {
            Self::V03 => "x-a2a-extensions",
            Self::V10 => "a2a-extensions",
        }
    }

    /// Its name: major and minor.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    /// Reads a name; a patch number after it does not matter.
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

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
