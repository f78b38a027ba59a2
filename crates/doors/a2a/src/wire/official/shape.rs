//! JSON form of a version in a binding.

use super::{A2aVersion, v03_proto::FileBytes};

/// JSON form for reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireForm {
    /// Version 0.3 in JSON-RPC: every object has a kind.
    V03,
    /// Version 0.3 in REST: the JSON form of the gRPC messages, with different names.
    V03Proto(FileBytes),
    /// Version 1.0 in every binding.
    V10,
}

impl WireForm {
    /// Returns the version of the form.
    pub(super) fn version(self) -> A2aVersion {
        match self {
            Self::V03 | Self::V03Proto(_) => A2aVersion::V03,
            Self::V10 => A2aVersion::V10,
        }
    }

    /// Returns true for the form of REST in 0.3.
    pub(super) fn is_proto(self) -> bool {
        matches!(self, Self::V03Proto(_))
    }
}

impl A2aVersion {
    /// Returns the form in JSON-RPC.
    pub(super) fn shape(self) -> WireForm {
        match self {
            Self::V03 => WireForm::V03,
            Self::V10 => WireForm::V10,
        }
    }
}
