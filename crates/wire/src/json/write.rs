//! Writing JSON: texts that may already be JSON, and helpers for derived types.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected},
};
use serde_json::value::RawValue;

use super::RawMember;

/// A text that is serialised as a JSON string: plain, or as the escaped JSON that a peer wrote.
///
/// The second form lets a chunk travel from socket to socket without being unescaped and escaped again.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum JsonText<'a> {
    /// Decoded text.
    Plain(&'a str),
    /// A JSON string, quotes included.
    Json(&'a RawValue),
}

/// A string, however it is escaped; a lone surrogate is one of its escapes.
#[cfg(feature = "schema")]
impl utoipa::PartialSchema for JsonText<'_> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for JsonText<'_> {}

impl<'a> JsonText<'a> {
    /// Returns the decoded text, borrowed if the text has no escapes.
    pub fn decode(&self) -> Cow<'a, str> {
        match *self {
            JsonText::Plain(text) => Cow::Borrowed(text),
            JsonText::Json(raw) => super::str_of(raw).unwrap_or_default(),
        }
    }

    /// Returns an estimate of the bytes that the text takes in a frame.
    pub fn size_hint(&self) -> usize {
        match self {
            // Line breaks and quotes double; an eighth is ample for prose and code.
            JsonText::Plain(text) => text.len() + text.len() / 8 + 2,
            JsonText::Json(raw) => raw.get().len(),
        }
    }
}

impl Default for JsonText<'_> {
    /// Returns the empty text.
    fn default() -> Self {
        JsonText::Plain("")
    }
}

impl<'a> From<&'a str> for JsonText<'a> {
    fn from(text: &'a str) -> Self {
        JsonText::Plain(text)
    }
}

impl<'a> From<&'a RawValue> for JsonText<'a> {
    fn from(raw: &'a RawValue) -> Self {
        JsonText::Json(raw)
    }
}

/// Reads a JSON string in place, without decoding.
impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        match super::is_string(raw) {
            true => Ok(JsonText::Json(raw)),
            false if super::is_null(raw) => {
                Err(D::Error::invalid_type(Unexpected::Unit, &"a string"))
            }
            false => Err(D::Error::custom("must be a string")),
        }
    }
}

/// Serialises `value` to JSON. `size` is the expected size in bytes.
pub fn to_json(value: &impl Serialize, size: usize) -> String {
    let mut out = Vec::with_capacity(size);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        // Frames consist of texts, numbers and raw JSON, which can always be serialised.
        Err(_) => String::new(),
    }
}

/// For `#[serde(serialize_with)]`: serialises [`RawMember`]s as an object, or flattened into an object.
pub fn members<S: Serializer>(members: &[RawMember<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|member| (&member.name, member.value)))
}

/// Appends `text` as a quoted, escaped JSON string.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let bytes = text.as_bytes();
    let mut kept_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        // Blocks without characters to escape are the rule; this test compiles to vector instructions.
        if let Some(block) = bytes.get(at..at + BLOCK)
            && !block
                .iter()
                .fold(false, |any, byte| any | needs_escape(*byte))
        {
            at += BLOCK;
            continue;
        }
        for at in at..bytes.len().min(at + BLOCK) {
            if needs_escape(bytes[at]) {
                // Only ASCII bytes get here, so `at` is a character boundary.
                out.push_str(&text[kept_to..at]);
                push_escape(out, bytes[at]);
                kept_to = at + 1;
            }
        }
        at += BLOCK;
    }
    out.push_str(&text[kept_to..]);
    out.push('"');
}

/// Returns `text` as a quoted, escaped JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + "\"\"".len());
    push_string(&mut out, text);
    out
}

/// Number of bytes examined together.
const BLOCK: usize = 16;

fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Appends the escape of an ASCII character that a JSON string must not contain.
fn push_escape(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        _ => {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}
