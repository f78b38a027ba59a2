//! Raw JSON text, handled without building a tree: for values that are passed on, and for values of any
//! shape.
//!
//! [`RawMembers`] and [`elements`] look one level deep into a [`RawValue`] without decoding or copying its
//! parts. Values of a known shape are read by [`read`](crate::read) instead. All functions here are
//! iterative: no input, however nested, can exhaust the stack.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

#[cfg(test)]
mod tests;
mod write;

pub use write::{JsonText, members, push_string, quoted, to_json};

use crate::read::{BorrowedText, try_read};

/// Maximum nesting depth of a value from a peer. Deeper values break recursive parsers further down the line.
pub const MAX_DEPTH: usize = 64;

/// Returns whether `raw`, a JSON value without whitespace around it, nests arrays and objects more than `max`
/// levels deep (`[]` is one level).
///
/// Strings and numbers cost one look at the first byte. Other values are scanned only if they have more
/// brackets than `max`, and the scan stops at the first bracket over the limit.
#[inline]
pub fn depth_exceeds(raw: &str, max: usize) -> bool {
    // A value of at most `max` bytes cannot have more than `max` brackets.
    if raw.len() <= max || !is_container(raw) {
        return false;
    }
    if opening_brackets(raw.as_bytes()) <= max {
        return false;
    }
    let mut depth = 0usize;
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Counts the `[` and `{` in `bytes`, including brackets in strings. Most values have few brackets, and
/// counting is quicker than scanning: in blocks whose count fits into a byte the loop compiles to vector
/// instructions.
fn opening_brackets(bytes: &[u8]) -> usize {
    const BLOCK: usize = 128;
    // `[` and `{` differ only in this bit.
    let is_opening = |byte: &u8| u8::from(byte | 0x20 == b'{');
    let blocks = bytes.chunks(BLOCK);
    blocks
        .map(|block| usize::from(block.iter().map(is_opening).sum::<u8>()))
        .sum()
}

/// Advances past the rest of a string whose opening quote was just read.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// Returns whether the JSON value `raw` is an array or an object.
#[inline]
pub fn is_container(raw: &str) -> bool {
    matches!(raw.trim_ascii_start().as_bytes().first(), Some(b'[' | b'{'))
}

/// Returns whether `raw` is a JSON string.
pub fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// Returns whether `raw` is an array.
pub fn is_array(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

/// Returns whether `raw` is `null`, which counts as absent for optional fields.
pub fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Returns the text of a JSON string, borrowed if the string has no escapes; `None` for any other value.
///
/// JavaScript sends lone surrogates (`"\ud83d"`) when it cuts text inside a pair; each becomes U+FFFD.
#[inline]
pub fn str_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    decode(raw.get())
}

/// Returns the text like [`str_of`] for `raw`, a JSON value without whitespace around it.
#[inline]
pub fn decode(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        false => Some(Cow::Borrowed(inner)),
        true => try_read(raw).map(|BorrowedText(text)| text),
    }
}

/// Returns `raw` without the whitespace between its tokens.
pub fn compact(raw: &RawValue) -> String {
    let raw = raw.get();
    let mut out = String::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    let mut kept_to = 0;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b' ' | b'\t' | b'\n' | b'\r' => {
                let next = raw.len() - bytes.len();
                out.push_str(&raw[kept_to..next - 1]);
                kept_to = next;
            }
            _ => {}
        }
    }
    out.push_str(&raw[kept_to..]);
    out
}

/// A member of an object.
#[derive(Debug, Clone)]
pub struct RawMember<'a> {
    /// Decoded name of the member; borrowed unless it was written with escapes.
    pub name: Cow<'a, str>,
    /// Value of the member, as written.
    pub value: &'a RawValue,
}

/// The members of an object in their order, one level deep.
#[derive(Debug, Clone, Default)]
pub struct RawMembers<'a>(Vec<RawMember<'a>>);

impl<'a> RawMembers<'a> {
    /// Reads the members of `raw`; `None` if `raw` is not an object.
    pub fn of(raw: &'a RawValue) -> Option<Self> {
        if !raw.get().starts_with('{') {
            return None;
        }
        serde_json::from_str(raw.get()).ok()
    }

    /// Returns the value of the first [`RawMember`] with this name; `null` counts as absent.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.value)
            .filter(|value| !is_null(value))
    }

    /// Returns the text of the first [`RawMember`] with this name, if the value is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(str_of)
    }

    /// Returns an iterator over the members in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &RawMember<'a>> {
        self.0.iter()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<RawMember<'de>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((BorrowedText(name), value)) = map.next_entry()? {
                    members.push(RawMember { name, value });
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(RawMembers)
    }
}

/// Returns the elements of an array as written; `None` if `raw` is not an array.
pub fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}
