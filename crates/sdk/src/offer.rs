//! What is said of an archive before it moves.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An archive that one party of a call may fetch from the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOffer {
    /// Which transfer it is. Make it a new UUID: nobody should be able to guess it.
    pub transfer_id: String,
    /// The archive's size in bytes.
    pub zip_size: u64,
    /// Its SHA-256, in hexadecimal.
    pub zip_sha256: String,
    /// How many files are in it.
    pub file_count: u64,
}

impl From<FileOffer> for Value {
    fn from(offer: FileOffer) -> Self {
        // Texts and numbers can always be written.
        serde_json::to_value(offer).unwrap_or_default()
    }
}
