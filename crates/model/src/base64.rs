//! [`Base64`]: bytes in base64, as transferred in JSON.

use std::{fmt, ops::Deref, sync::Arc};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::{Deserialize, Serialize};

/// Engine that encodes with padding, and decodes text with or without padding and with trailing bits, as
/// written by other programs.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Bytes in base64. Clones share the text.
///
/// The text stays exactly as the peer wrote it, so that the hub passes it on without decoding.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base64(Arc<str>);

/// Error for a text that is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its bytes are not valid base64")]
pub struct InvalidBase64;

impl Base64 {
    /// Encodes bytes.
    pub fn encode(bytes: impl AsRef<[u8]>) -> Self {
        Self(LENIENT.encode(bytes).into())
    }

    /// Decodes the bytes.
    pub fn decode(&self) -> Result<Vec<u8>, InvalidBase64> {
        LENIENT.decode(&*self.0).map_err(|_| InvalidBase64)
    }
}

impl Deref for Base64 {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Base64 {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Base64 {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_with_padding_and_read_without_it_too() {
        assert_eq!(&*Base64::encode(b"hi!?"), "aGkhPw==");
        for text in ["aGkhPw==", "aGkhPw"] {
            assert_eq!(Base64::from(text).decode().unwrap(), b"hi!?");
        }
        assert_eq!(Base64::from("?").decode(), Err(InvalidBase64));
    }
}
