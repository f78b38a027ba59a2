//! [`ArchiveLimits`] of an archive, applied by both packing and unpacking.

/// Most levels of folders in an archive. Packing holds one open folder per level.
pub(crate) const MAX_DEPTH: usize = 64;

/// Longest name of a file or folder in bytes, as in nearly all file systems.
pub(crate) const MAX_NAME: usize = 255;

/// Limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Most files, and most folders.
    pub files: u64,
    /// Most bytes of the archive.
    pub archive: u64,
    /// Most bytes of all files together.
    pub unpacked: u64,
}

impl Default for ArchiveLimits {
    /// Returns the bridge's limits, and 2 GB unpacked.
    fn default() -> Self {
        Self {
            files: 5_000,
            archive: 200 << 20,
            unpacked: 2 << 30,
        }
    }
}

/// Formats a number of bytes for people.
pub(crate) fn megabytes(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        format!("{} MB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
