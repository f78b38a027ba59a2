//! How much one archive may hold. Both ends keep to it: what is packed here is unpacked there.

/// How many levels of folders an archive may have. Each level is a folder held open while packing.
pub(crate) const MAX_DEPTH: usize = 64;

/// How long the name of one file or folder may be, as nearly all file systems have it.
pub(crate) const MAX_NAME: usize = 255;

/// How much one archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files; and as many folders.
    pub files: u64,
    /// Bytes of the archive.
    pub archive: u64,
    /// Bytes of all files in it.
    pub unpacked: u64,
}

impl Default for Limits {
    /// Those of the bridge, and 2 GB unpacked.
    fn default() -> Self {
        Self {
            files: 5_000,
            archive: 200 << 20,
            unpacked: 2 << 30,
        }
    }
}

/// A number of bytes as people say it.
pub(crate) fn megabytes(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        format!("{} MB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
