//! Raw JSON text, handled without building a tree: for what is passed on, and for values of any shape.
//!
//! [`Members`] and [`elements`] look one level deep into a [`RawValue`], whose parts are neither decoded nor copied. What
//! has a known shape is read by [`read`](crate::read) instead. Everything here is iterative: no input, however nested, can
//! exhaust the stack.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

#[cfg(test)]
mod tests;
mod write;

pub use write::{Text, members, push_string, to_json};

use crate::read::{Borrowed, read_part};

/// How deep a value that a peer sent may be nested; deeper ones break recursive parsers further down the line.
pub const MAX_DEPTH: usize = 64;

/// Whether `raw`, a JSON value without whitespace around it, nests arrays and objects more than `max` levels deep (`[]` is one level).
///
/// Strings and numbers cost one look at the first byte. Others are scanned only if they have more brackets than `max`, and
/// the scan stops at the first bracket too many.
#[inline]
pub fn depth_exceeds(raw: &str, max: usize) -> bool {
    // A value shorter than `max` bytes has not enough brackets.
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

/// How many `[` and `{` there are, those in strings included. Most values have few, and counting is quicker than scanning:
/// in blocks whose count fits into a byte it compiles to vector instructions.
fn opening_brackets(bytes: &[u8]) -> usize {
    const BLOCK: usize = 128;
    // The two differ in this bit only.
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

/// Whether `raw`, a JSON value, is an array or an object.
#[inline]
pub fn is_container(raw: &str) -> bool {
    matches!(raw.trim_ascii_start().as_bytes().first(), Some(b'[' | b'{'))
}

/// Whether `raw` is a JSON string.
pub fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// Whether `raw` is an array.
pub fn is_array(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

/// Whether `raw` is `null`, which counts as absent for optional fields.
pub fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// The text of a JSON string, borrowed when it holds no escapes; `None` for any other value.
///
/// JavaScript sends lone surrogates (`"\ud83d"`) when it cuts text inside a pair; each becomes U+FFFD.
#[inline]
pub fn str_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        false => Some(Cow::Borrowed(inner)),
        true => read_part(raw).ok().map(|Borrowed(text)| text),
    }
}

/// `raw` without the whitespace between its tokens.
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

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its name, decoded; borrowed unless it was written with escapes.
    pub name: Cow<'a, str>,
    /// Its value as it was written.
    pub value: &'a RawValue,
}

/// The members of one object in their order, one level deep.
#[derive(Debug, Clone, Default)]
pub struct Members<'a>(Vec<Member<'a>>);

impl<'a> Members<'a> {
    /// Reads the members of `raw`; `None` if it is no object.
    pub fn of(raw: &'a RawValue) -> Option<Self> {
        if !raw.get().starts_with('{') {
            return None;
        }
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of the first member of that name, `null` counting as absent.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.value)
            .filter(|value| !is_null(value))
    }

    /// The text of the first member of that name, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(str_of)
    }

    /// Walks over the members in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &Member<'a>> {
        self.0.iter()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<Member<'de>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Borrowed(name), value)) = map.next_entry()? {
                    members.push(Member { name, value });
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

/// The elements of an array as they were written; `None` if `raw` is no array.
pub fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}
