//! Reading a peer's JSON into a type that derives [`Deserialize`], with errors that name the wrong field.
//!
//! [`read()`] takes a whole document, [`read_part`] a value inside a document. Both apply the same rules to
//! derived types:
//!
//! - A struct is read from an object only, an enum from a string only. serde_json alone also accepts arrays
//!   and objects.
//! - A known field must not occur twice. Unknown fields are skipped.
//! - `null` counts as absent for an `Option`. A field with a default needs [`or_default`] for the same.
//! - A lone surrogate in a string (`"\ud83d"`) becomes U+FFFD. JavaScript sends lone surrogates when it cuts
//!   text inside a pair. Field names and a `serde_json::Value` still refuse lone surrogates, so keep
//!   free-form values as [`RawValue`].
//!
//! Valid input is parsed once. Only after a failure a second parse finds the path of the field.
//!
//! The module also has functions for `#[serde(deserialize_with)]`: [`or_default`] and more for strict
//! readers, [`lenient`] and more for readers that ignore unusable values. [`OpenObject`] keeps the fields that a
//! struct does not have.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Error};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::echo;
use crate::json::{RawMember, RawMembers, depth_exceeds};

mod fields;
mod lenient;
mod open;
mod strict;
#[cfg(test)]
mod tests;

pub use fields::{
    BorrowedText, array, blank_is_absent, not_blank, or_default, text, texts, verbatim, word,
};
pub use lenient::{lenient, lenient_list, lenient_number, lenient_text, lenient_texts};
pub use open::OpenObject;
use strict::StrictDeserializer;

/// Separates the parts of a [`FieldError`] inside the message of an error. No message of serde starts with this
/// character.
const NESTED: char = '\u{1}';

/// The kind of a [`FieldError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// The text is not JSON.
    Syntax,
    /// The value is nested too deeply.
    TooDeep,
    /// A required field is missing or `null`.
    Missing,
    /// A field is given twice.
    Twice,
    /// A value has the wrong type, or is not allowed.
    Invalid,
}

/// Error for a text that could not be read, with the path of the wrong field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Kind of the error.
    pub mistake: FieldErrorKind,
    /// Path of the wrong field, such as `parts[0].text`; empty if the value itself is wrong.
    pub path: String,
    /// Description of the problem and the remedy, as the end of a sentence about the field: "must be a
    /// string".
    pub problem: Cow<'static, str>,
}

impl FieldError {
    /// Creates an error for the field at `path` with a value that is not allowed.
    pub fn invalid(path: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        FieldError {
            mistake: FieldErrorKind::Invalid,
            path: echo(path).to_owned(),
            problem: problem.into(),
        }
    }

    /// Creates an error for the missing required field at `path`.
    pub fn missing(path: &str) -> Self {
        FieldError {
            mistake: FieldErrorKind::Missing,
            ..Self::invalid(path, "is required")
        }
    }

    /// Creates an error for the field at `path` that is given twice.
    pub fn duplicate(path: &str) -> Self {
        FieldError {
            mistake: FieldErrorKind::Twice,
            ..Self::invalid(path, "is given twice")
        }
    }

    /// Creates an error for the field at `path` that is nested more than `max` levels deep.
    pub fn too_deep(path: &str, max: usize) -> Self {
        FieldError {
            mistake: FieldErrorKind::TooDeep,
            ..Self::invalid(path, format!("is nested deeper than {max} levels"))
        }
    }

    /// Creates an error for a text that is not JSON, or not an object.
    pub fn not_an_object(error: &serde_json::Error) -> Self {
        match error.is_data() {
            true => Self::invalid("", "must be a JSON object"),
            false => Self::syntax(error),
        }
    }

    /// Creates an error for a text that is not JSON.
    fn syntax(error: &serde_json::Error) -> Self {
        FieldError {
            mistake: FieldErrorKind::Syntax,
            ..Self::invalid("", format!("is not valid JSON: {error}"))
        }
    }

    /// Converts the error for the reader of the surrounding document, which adds its own path.
    ///
    /// For a [`Deserialize`] implementation that reads a [`RawValue`] and then its content with
    /// [`read_part`].
    pub fn into_error<E: Error>(self) -> E {
        let mistake = match self.mistake {
            FieldErrorKind::Missing => "missing",
            FieldErrorKind::Twice => "twice",
            FieldErrorKind::Syntax | FieldErrorKind::TooDeep | FieldErrorKind::Invalid => "invalid",
        };
        E::custom(format!(
            "{NESTED}{mistake}{NESTED}{}{NESTED}{}",
            self.path, self.problem
        ))
    }

    /// Parses a message that [`FieldError::into_error`] created.
    fn from_error(message: &str) -> Option<Self> {
        let (mistake, rest) = message.strip_prefix(NESTED)?.split_once(NESTED)?;
        // The path may contain the separator from a peer's own text; the problem has such text escaped.
        let (path, problem) = rest.rsplit_once(NESTED)?;
        let mistake = match mistake {
            "missing" => FieldErrorKind::Missing,
            "twice" => FieldErrorKind::Twice,
            _ => FieldErrorKind::Invalid,
        };
        Some(FieldError {
            mistake,
            ..Self::invalid(path, problem.to_owned())
        })
    }

    /// Returns the path of the wrong field; `None` if the value itself is wrong.
    pub fn field(&self) -> Option<&str> {
        Some(&*self.path).filter(|path| !path.is_empty())
    }

    /// Writes the error as a sentence about a frame. `frame_type` is the type of the frame, if it could be
    /// read.
    pub fn fmt_frame(&self, frame_type: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot inject lines into a log.
        if let Some(frame_type) = frame_type {
            write!(f, "{}: ", frame_type.escape_debug())?;
        }
        match self.field() {
            Some(_) => fmt::Display::fmt(self, f),
            None => write!(f, "the frame {}", self.problem),
        }
    }

    /// Returns the same error with the path extended by `place`: the name of the field that holds the value,
    /// or the position in an array, written `[0]`.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.path = join(echo(place), &self.path);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot inject lines into a log.
        match self.field() {
            Some(field) => write!(f, "field \"{}\" ", field.escape_debug())?,
            None => f.write_str("the value ")?,
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for FieldError {}

/// Reads a whole document with at most `max_depth` levels of nesting.
pub fn read<'de, T: Deserialize<'de>>(text: &'de str, max_depth: usize) -> Result<T, FieldError> {
    if depth_exceeds(text.trim_ascii(), max_depth) {
        return Err(FieldError::too_deep("", max_depth));
    }
    parse(text)
}

/// Checks the nesting depth of the fields of an object. Returns a [`FieldError`] that names the first field with
/// more than `max_depth` levels.
///
/// For readers that choose among several types, and then read with `usize::MAX`.
pub fn check_fields_depth(text: &str, max_depth: usize) -> Result<(), FieldError> {
    // The object itself counts as a level.
    if !depth_exceeds(text.trim_ascii(), max_depth.saturating_add(1)) {
        return Ok(());
    }
    let members: RawMembers<'_> =
        serde_json::from_str(text).map_err(|error| FieldError::not_an_object(&error))?;
    let is_deep = |member: &&RawMember<'_>| depth_exceeds(member.value.get(), max_depth);
    let field = members.iter().find(is_deep).map(|member| &*member.name);
    Err(FieldError::too_deep(field.unwrap_or_default(), max_depth))
}

/// Reads a whole document, or returns `None` if it is not a `T`. Skips the search for the wrong field.
pub fn try_read<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(StrictDeserializer(&mut deserializer)).ok()?;
    deserializer.end().is_ok().then_some(value)
}

/// Reads a value inside a document. The depth was checked when the document was read.
pub fn read_part<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> Result<T, FieldError> {
    parse(raw.get())
}

fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, FieldError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(StrictDeserializer(&mut deserializer));
    value
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| locate_error::<T>(text, &error))
}

/// Parses `text` again, after it could not be read as `T`, to find the path of the wrong field.
#[cold]
fn locate_error<'de, T: Deserialize<'de>>(text: &'de str, error: &serde_json::Error) -> FieldError {
    // A wrong type may precede a syntax error; then the syntax error is reported. A lone surrogate is not a
    // syntax error, although serde_json reports one where it does not expect a string.
    if let Err(broken) = serde_json::from_str::<&RawValue>(text) {
        return FieldError::syntax(&broken);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(StrictDeserializer(&mut deserializer)) {
        Err(path) => error_at(path.path(), path.inner()),
        // Unreachable: both parses behave the same.
        Ok(_) => FieldError::syntax(error),
    }
}

/// Converts the error that serde reports at `path`.
fn error_at(path: &serde_path_to_error::Path, error: &serde_json::Error) -> FieldError {
    let mut place = String::new();
    for segment in path {
        place = match segment {
            Segment::Seq { index } => join(&place, &format!("[{index}]")),
            Segment::Map { key } => join(&place, echo(key)),
            Segment::Enum { .. } | Segment::Unknown => place,
        };
    }
    if !error.is_data() {
        let surrogate = "must be another value than a string with a lone surrogate";
        return match place.is_empty() {
            true => FieldError::syntax(error),
            false => FieldError::invalid(&place, surrogate),
        };
    }
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&position).unwrap_or(&message);
    if let Some(name) = quoted(message, "missing field ") {
        return FieldError::missing(&join(&place, name));
    }
    if let Some(name) = quoted(message, "duplicate field ") {
        return FieldError::duplicate(&join(&place, name));
    }
    if let Some(misread) = FieldError::from_error(message) {
        return FieldError {
            path: join(&place, &misread.path),
            ..misread
        };
    }
    let is_element = place.is_empty() || place.ends_with(']');
    if message.starts_with("invalid type: null,") && !is_element {
        return FieldError::missing(&place);
    }
    FieldError::invalid(&place, remedy(message))
}

/// Converts serde's message into a remedy for the peer.
fn remedy(message: &str) -> Cow<'static, str> {
    // Text of the peer can occur only before the last "expected".
    let Some((mistake, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned().into();
    };
    if let Some(word) = quoted(mistake, "unknown variant ") {
        let (word, expected) = (echo(word).escape_debug(), expected.replace('`', ""));
        return format!("must be {expected}, not \"{word}\"").into();
    }
    let expected = match expected {
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other if other.starts_with("enum ") => "a string",
        other => other,
    };
    format!("must be {expected}").into()
}

/// Returns the text between backticks after `start`.
fn quoted<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message
        .strip_prefix(start)?
        .strip_prefix('`')?
        .strip_suffix('`')
}

/// Joins the path `inner` to the path `outer`.
fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", path) | (path, "") => path.to_owned(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}
