//! [`Base64`]: bytes in base64, as transferred in JSON, and the one rule for reading base64 of other programs.

use std::{borrow::Cow, fmt, ops::Deref, sync::Arc};

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
/// The text stays exactly as the peer wrote it, so that the hub passes it on without decoding. Reading
/// accepts either alphabet, any padding, line breaks, and trailing bits that are not zero.
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
        let decoded = LENIENT.decode(&*self.0);
        let decoded = decoded.or_else(|_| LENIENT.decode(&*standard(&self.0)));
        decoded.map_err(|_| InvalidBase64)
    }

    /// Converts text to the standard alphabet with padding, without line breaks. Returns `None` for text that
    /// is not base64.
    pub fn normalize(text: String) -> Option<String> {
        if text.len().is_multiple_of(4) && LENIENT.decode(&text).is_ok() {
            return Some(text);
        }
        let mut text = standard(&text).into_owned();
        LENIENT.decode(&text).ok()?;
        while !text.len().is_multiple_of(4) {
            text.push('=');
        }
        Some(text)
    }
}

/// Returns base64 in the standard alphabet, without line breaks and padding.
fn standard(text: &str) -> Cow<'_, str> {
    let is_odd = |letter: char| matches!(letter, '\r' | '\n' | '-' | '_');
    if !text.contains(is_odd) {
        return Cow::Borrowed(text.trim_end_matches('='));
    }
    let letters = text.chars().filter(|letter| !matches!(letter, '\r' | '\n'));
    let letters = letters.map(|letter| match letter {
        '-' => '+',
        '_' => '/',
        letter => letter,
    });
    let mut text: String = letters.collect();
    text.truncate(text.trim_end_matches('=').len());
    Cow::Owned(text)
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

    #[test]
    fn bytes_are_read_in_either_alphabet_with_line_breaks_and_trailing_bits() {
        for text in ["-_8", "+/8=", "+/\r\n8=\n", "+/8==", "+/9"] {
            let decoded = Base64::from(text).decode();
            assert_eq!(decoded.as_deref(), Ok(&[0xfb, 0xff][..]), "{text:?}");
        }
    }

    #[test]
    fn every_form_becomes_the_standard_one() {
        for (text, expected) in [
            ("", Some("")),
            ("aGk=", Some("aGk=")),
            ("aGk", Some("aGk=")),
            ("-_8", Some("+/8=")),
            ("aG\r\nk=\n", Some("aGk=")),
            ("aGk==", Some("aGk=")),
            ("a", None),
            ("aGkx=aGk", None),
            ("aG k", None),
            ("äöü", None),
        ] {
            let normal = Base64::normalize(text.into());
            assert_eq!(normal.as_deref(), expected, "{text:?}");
        }
    }
}
