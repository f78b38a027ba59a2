//! Reading the bytes of a body, and checks for the fields of several bodies.

use serde::Deserialize;

use super::{Fault, Limits};
use crate::read::read;

/// Reads a body within the [`Limits`].
pub fn read_body<'a, T: Deserialize<'a>>(bytes: &'a [u8], limits: &Limits) -> Result<T, Fault> {
    if bytes.len() > limits.max_bytes {
        return Err(Fault::too_large(limits.max_bytes, "bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::here("is not UTF-8"))?;
    if text.trim_ascii().is_empty() {
        return Err(Fault::here("is empty"));
    }
    Ok(read(text, limits.max_depth)?)
}

/// Checks that the text of a field is not blank and has at most `max` bytes. Returns a [`Fault`] that names
/// the field otherwise.
pub fn word(field: &str, text: String, max: usize) -> Result<String, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::at(field, "must not be blank"));
    }
    if text.len() > max {
        return Err(Fault::too_large(max, "bytes").within(field));
    }
    Ok(text)
}
