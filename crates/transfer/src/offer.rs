//! Description of an archive before its transfer: the bridge's `file_transfer_offer`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An archive that the peer may fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveOffer {
    /// Id of the transfer.
    pub transfer_id: String,
    /// Size of the archive in bytes.
    pub zip_size: u64,
    /// SHA-256 of the archive, in hexadecimal.
    pub zip_sha256: String,
    /// Number of files in the archive.
    pub file_count: u64,
}

/// Why an offer is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArchiveOffer {
    /// A field has an invalid value.
    #[error("field \"{0}\" of the offer {1}")]
    Field(&'static str, &'static str),
}

impl ArchiveOffer {
    /// Creates an offer with a new id.
    pub fn new(zip_size: u64, zip_sha256: String, file_count: u64) -> Self {
        Self {
            transfer_id: Uuid::new_v4().to_string(),
            zip_size,
            zip_sha256,
            file_count,
        }
    }

    /// Validates the offer, which comes from an untrusted peer.
    pub fn check(&self) -> Result<(), InvalidArchiveOffer> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
        if self.transfer_id.is_empty()
            || self.transfer_id.len() > 128
            || !self.transfer_id.chars().all(is_name)
        {
            return Err(InvalidArchiveOffer::Field("transfer_id", "is no id"));
        }
        if self.zip_sha256.len() != 64 || !self.zip_sha256.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(InvalidArchiveOffer::Field(
                "zip_sha256",
                "must be 64 hexadecimal digits",
            ));
        }
        if self.zip_size == 0 {
            return Err(InvalidArchiveOffer::Field(
                "zip_size",
                "must be more than 0",
            ));
        }
        Ok(())
    }
}
