//! How a version looks in a binding.

use super::{Version, v03_proto::FileBytes};

/// The form in which things are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// 0.3: everything has a kind.
    V03,
    /// 0.3 in REST: the JSON form of its messages for gRPC, which has other names.
    V03Proto(FileBytes),
    /// 1.0, everywhere.
    V10,
}

impl Shape {
    /// The version whose form it is.
    pub(super) fn version(self) -> Version {
        match self {
            Self::V03 | Self::V03Proto(_) => Version::V03,
            Self::V10 => Version::V10,
        }
    }

    /// Whether it is the one that only REST of 0.3 has.
    pub(super) fn is_proto(self) -> bool {
        matches!(self, Self::V03Proto(_))
    }
}

impl Version {
    /// Its form in JSON-RPC.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::V03 => Shape::V03,
            Self::V10 => Shape::V10,
        }
    }
}
