//! Reading the bytes of a body, and checks for the fields of several bodies.

use serde::Deserialize;

use super::{BodyLimits, PeerInputError};
use crate::read::read;

/// Reads a body within the [`BodyLimits`].
pub fn read_body<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    limits: &BodyLimits,
) -> Result<T, PeerInputError> {
    if bytes.len() > limits.max_bytes {
        return Err(PeerInputError::too_large(limits.max_bytes, "bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| PeerInputError::in_body("is not UTF-8"))?;
    if text.trim_ascii().is_empty() {
        return Err(PeerInputError::in_body("is empty"));
    }
    Ok(read(text, limits.max_depth)?)
}

/// Checks that the text of a field is not blank and has at most `max` bytes. Returns a [`PeerInputError`] that names
/// the field otherwise.
pub fn checked_text(field: &str, text: String, max: usize) -> Result<String, PeerInputError> {
    if text.trim().is_empty() {
        return Err(PeerInputError::in_field(field, "must not be blank"));
    }
    if text.len() > max {
        return Err(PeerInputError::too_large(max, "bytes").within(field));
    }
    Ok(text)
}
