//! Writing JSON straight onto a `String`: frames are small and flat, so no serializer stands in between.
//! The frame builders of the protocol modules are its only users; names are theirs and trusted, texts are escaped.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected},
};
use serde_json::value::RawValue;

use super::Member;

/// A text that becomes a JSON string: plain, or still as a peer wrote it, escapes and all.
///
/// The second form lets a chunk travel from socket to socket without being unescaped and escaped again.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Text<'a> {
    /// Decoded text.
    Plain(&'a str),
    /// A JSON string, quotes included.
    Json(&'a RawValue),
}

impl<'a> Text<'a> {
    /// The decoded text, borrowed when it holds no escapes.
    pub fn decode(&self) -> Cow<'a, str> {
        match *self {
            Text::Plain(text) => Cow::Borrowed(text),
            Text::Json(raw) => super::str_of(raw).unwrap_or_default(),
        }
    }

    /// About how many bytes it takes in a frame.
    pub fn size_hint(&self) -> usize {
        match self {
            // Line breaks and quotes double; an eighth is ample for prose and code.
            Text::Plain(text) => text.len() + text.len() / 8 + 2,
            Text::Json(raw) => raw.get().len(),
        }
    }
}

impl Default for Text<'_> {
    /// The empty text.
    fn default() -> Self {
        Text::Plain("")
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Plain(text)
    }
}

impl<'a> From<&'a RawValue> for Text<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Text::Json(raw)
    }
}

/// Reads a JSON string in place, without decoding it.
impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        match super::is_string(raw) {
            true => Ok(Text::Json(raw)),
            false if super::is_null(raw) => {
                Err(D::Error::invalid_type(Unexpected::Unit, &"a string"))
            }
            false => Err(D::Error::custom("must be a string")),
        }
    }
}

/// The JSON of `value`, which takes about `size` bytes.
pub fn to_json(value: &impl Serialize, size: usize) -> String {
    let mut out = Vec::with_capacity(size);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        // Texts, numbers and raw JSON, of which frames consist, can always be written.
        Err(_) => String::new(),
    }
}

/// For `#[serde(serialize_with)]`: members of some object, as an object or flattened into one.
pub fn members<S: Serializer>(members: &[Member<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|member| (&member.name, member.value)))
}

/// Appends `text` as a quoted, escaped JSON string.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let bytes = text.as_bytes();
    let mut kept_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        // Whole blocks without anything to escape are the rule; this test compiles to vector instructions.
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

/// How many bytes are looked at together.
const BLOCK: usize = 16;

fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Appends the escape of one ASCII character that may not stand in a JSON string.
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

/// Writes one JSON object, member by member, onto a `String`.
///
/// Names must need no escaping: they are the protocol's own. The `maybe_` methods leave out what is `None`.
#[derive(Debug)]
#[must_use = "an object is complete only after `close`"]
pub struct ObjectWriter<'o> {
    out: &'o mut String,
    is_empty: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Begins an object at the end of `out`.
    pub fn open(out: &'o mut String) -> Self {
        out.push('{');
        ObjectWriter {
            out,
            is_empty: true,
        }
    }

    /// Ends the object.
    pub fn close(self) {
        self.out.push('}');
    }

    /// Begins a member; the caller must append its value to what is returned.
    fn key(&mut self, name: &str) -> &mut String {
        self.out.push_str(if self.is_empty { "\"" } else { ",\"" });
        self.is_empty = false;
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    /// Adds a string.
    pub fn text<'t>(&mut self, name: &str, text: impl Into<Text<'t>>) -> &mut Self {
        let out = self.key(name);
        match text.into() {
            Text::Plain(text) => push_string(out, text),
            Text::Json(raw) => out.push_str(raw.get()),
        }
        self
    }

    /// Adds a string if there is one.
    pub fn maybe_text<'t>(&mut self, name: &str, text: Option<impl Into<Text<'t>>>) -> &mut Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    /// Adds a value that is JSON already.
    pub fn raw(&mut self, name: &str, raw: &RawValue) -> &mut Self {
        self.key(name).push_str(raw.get());
        self
    }

    /// Adds a value that is JSON already, if there is one.
    pub fn maybe_raw(&mut self, name: &str, raw: Option<&RawValue>) -> &mut Self {
        match raw {
            Some(raw) => self.raw(name, raw),
            None => self,
        }
    }

    /// Adds members of another object, whose names may be anything.
    pub fn members(&mut self, members: &[Member<'_>]) -> &mut Self {
        for member in members {
            if !self.is_empty {
                self.out.push(',');
            }
            self.is_empty = false;
            push_string(self.out, &member.name);
            self.out.push(':');
            self.out.push_str(member.value.get());
        }
        self
    }

    /// Adds a boolean.
    pub fn flag(&mut self, name: &str, value: bool) -> &mut Self {
        self.key(name)
            .push_str(if value { "true" } else { "false" });
        self
    }

    /// Adds a number.
    pub fn number(&mut self, name: &str, value: u64) -> &mut Self {
        let out = self.key(name);
        // Writing to a `String` cannot fail.
        write!(out, "{value}").unwrap_or_default();
        self
    }

    /// Adds a number that may be negative.
    pub fn integer(&mut self, name: &str, value: i64) -> &mut Self {
        let out = self.key(name);
        // Writing to a `String` cannot fail.
        write!(out, "{value}").unwrap_or_default();
        self
    }

    /// Adds a number if there is one.
    pub fn maybe_number(&mut self, name: &str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    /// Adds an array of strings.
    pub fn texts<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) -> &mut Self {
        self.list(name, texts, |out, text| push_string(out, text.as_ref()))
    }

    /// Adds an array whose elements `write` appends one by one.
    pub fn list<T>(
        &mut self,
        name: &str,
        items: &[T],
        mut write: impl FnMut(&mut String, &T),
    ) -> &mut Self {
        let out = self.key(name);
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write(out, item);
        }
        out.push(']');
        self
    }

    /// Adds an object whose members `fill` writes.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        let mut inner = ObjectWriter::open(self.key(name));
        fill(&mut inner);
        inner.close();
        self
    }
}
