//! [`Offer`]: the description of an archive before its transfer, as in the bridge's `file_transfer_offer`. The text comes from an untrusted peer and is checked before use.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Maximum length of a transfer id, in bytes.
const MAX_ID: usize = 128;
/// Largest number that all JSON readers represent exactly.
const MAX_NUMBER: u64 = 1 << 53;

/// An archive that a peer offers for transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Id of the transfer. Use a new UUID, because the id must be impossible to guess.
    pub transfer_id: String,
    /// Size of the archive in bytes.
    pub zip_size: u64,
    /// SHA-256 of the archive, in hexadecimal.
    pub zip_sha256: String,
    /// Number of files in the archive.
    pub file_count: u64,
}

/// Error for an [`Offer`] with an impossible field value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("field {field:?} {must}")]
pub struct InvalidOffer {
    field: &'static str,
    must: &'static str,
}

impl Offer {
    /// Creates an offer with a new id.
    pub fn new(zip_size: u64, zip_sha256: String, file_count: u64) -> Self {
        Self {
            transfer_id: Uuid::new_v4().to_string(),
            zip_size,
            zip_sha256,
            file_count,
        }
    }

    /// Parses an offer from a peer's JSON. Returns `None` if the JSON is malformed or [`Offer::checked`]
    /// refuses the offer.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str::<Self>(json).ok()?.checked().ok()
    }

    /// Checks all fields and converts the hash to lower case, so that hashes can be compared. Returns
    /// [`InvalidOffer`] for a field with an impossible value.
    pub fn checked(mut self) -> Result<Self, InvalidOffer> {
        let bad = |field, must| Err(InvalidOffer { field, must });
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
        let id = &self.transfer_id;
        if !(1..=MAX_ID).contains(&id.len()) || !id.bytes().all(is_of_id) {
            return bad("transfer_id", "must have 1 to 128 of A-Z a-z 0-9 . _ : @ -");
        }
        if !(1..=MAX_NUMBER).contains(&self.zip_size) {
            return bad("zip_size", "must be a number of bytes, from 1 to 2^53");
        }
        let hash = &self.zip_sha256;
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return bad("zip_sha256", "must be 64 hexadecimal digits");
        }
        if self.file_count > MAX_NUMBER {
            return bad("file_count", "must be a number of files, at most 2^53");
        }
        self.zip_sha256.make_ascii_lowercase();
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "ABcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789";

    #[test]
    fn an_offer_is_read_with_what_else_it_says_and_its_hash_in_one_form() {
        let text = format!(
            r#"{{"transfer_id":"t:1","zip_size":5,"zip_sha256":"{HASH}","file_count":1,"files":["a"]}}"#
        );
        let offer = Offer::read(&text).unwrap();
        assert_eq!(offer.zip_sha256, HASH.to_ascii_lowercase());
        assert_eq!((offer.zip_size, offer.transfer_id.as_str()), (5, "t:1"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_field() {
        let right = Offer {
            transfer_id: "t".into(),
            zip_size: 1,
            zip_sha256: HASH.into(),
            file_count: 0,
        };
        assert!(right.clone().checked().is_ok());
        for (field, wrong) in [
            (
                "transfer_id",
                Offer {
                    transfer_id: String::new(),
                    ..right.clone()
                },
            ),
            (
                "transfer_id",
                Offer {
                    transfer_id: "../t".into(),
                    ..right.clone()
                },
            ),
            (
                "transfer_id",
                Offer {
                    transfer_id: "t".repeat(129),
                    ..right.clone()
                },
            ),
            (
                "zip_size",
                Offer {
                    zip_size: 0,
                    ..right.clone()
                },
            ),
            (
                "zip_size",
                Offer {
                    zip_size: u64::MAX,
                    ..right.clone()
                },
            ),
            (
                "zip_sha256",
                Offer {
                    zip_sha256: HASH[1..].into(),
                    ..right.clone()
                },
            ),
            (
                "zip_sha256",
                Offer {
                    zip_sha256: HASH.replace('0', "g"),
                    ..right.clone()
                },
            ),
            (
                "file_count",
                Offer {
                    file_count: u64::MAX,
                    ..right.clone()
                },
            ),
        ] {
            let why = wrong.checked().unwrap_err().to_string();
            assert!(why.contains(field), "{why}");
        }
        for text in ["", "null", "[]", r#"{"transfer_id":"t"}"#, r#""t""#] {
            assert_eq!(Offer::read(text), None, "{text}");
        }
    }
}
