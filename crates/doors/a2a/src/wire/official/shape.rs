//! JSON form of a version in a binding.

use super::{Version, v03_proto::FileBytes};

/// JSON form for reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Version 0.3 in JSON-RPC: every object has a kind.
    V03,
    /// Version 0.3 in REST: the JSON form of the gRPC messages, with different names.
    V03Proto(FileBytes),
    /// Version 1.0 in every binding.
    V10,
}

impl Shape {
    /// Returns the version of the form.
    pub(super) fn version(self) -> Version {
        match self {
            Self::V03 | Self::V03Proto(_) => Version::V03,
            Self::V10 => Version::V10,
        }
    }

    /// Returns true for the form of REST in 0.3.
    pub(super) fn is_proto(self) -> bool {
        matches!(self, Self::V03Proto(_))
    }
}

impl Version {
    /// Returns the form in JSON-RPC.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::V03 => Shape::V03,
            Self::V10 => Shape::V10,
        }
    }
}
