//! Reading a peer's JSON into a type that derives `Deserialize`, and naming the field that is wrong.
//!
//! [`read`] takes a whole document, [`read_part`] a value inside one. Both hold derived types to the same rules:
//!
//! - A struct is read from an object only, an enum from a string only. serde_json alone also takes arrays and objects.
//! - A field that the type has must not be given twice. Fields that the type does not have are skipped.
//! - `null` is as good as absent for an `Option`. A field with a default needs [`or_default`] for that.
//! - A lone surrogate in a string (`"\ud83d"`) becomes U+FFFD. JavaScript sends it when it cuts text inside a pair.
//!   Names of fields and a `serde_json::Value` still refuse it, so keep free-form values as [`RawValue`].
//!
//! Good input is parsed once. Only after a failure a second parse finds out the path of the field.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::echo;
use crate::json::depth_exceeds;

mod strict;
#[cfg(test)]
mod tests;

use strict::Strict;

/// What sort of mistake a [`Misread`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
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

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// What sort of mistake it is.
    pub mistake: Mistake,
    /// The path of the wrong field, such as `parts[0].text`; empty if the value itself is wrong.
    pub path: String,
    /// What is wrong and what to do instead, as the end of a sentence about the field: "must be a string".
    pub problem: Cow<'static, str>,
}

impl Misread {
    /// The field at `path` has a value that is not allowed.
    pub fn invalid(path: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Misread {
            mistake: Mistake::Invalid,
            path: echo(path).to_owned(),
            problem: problem.into(),
        }
    }

    /// The required field at `path` is missing.
    pub fn missing(path: &str) -> Self {
        Misread {
            mistake: Mistake::Missing,
            ..Self::invalid(path, "is required")
        }
    }

    /// The field at `path` is given twice.
    pub fn twice(path: &str) -> Self {
        Misread {
            mistake: Mistake::Twice,
            ..Self::invalid(path, "is given twice")
        }
    }

    /// The path of the wrong field; `None` if the value itself is wrong.
    pub fn field(&self) -> Option<&str> {
        Some(&*self.path).filter(|path| !path.is_empty())
    }

    /// The same mistake, seen from the object that holds the value in the field `place`, or from the array that holds
    /// it at `place`, written `[0]`.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.path = join(echo(place), &self.path);
        self
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot write lines of its own into a log.
        match self.field() {
            Some(field) => write!(f, "field \"{}\" ", field.escape_debug())?,
            None => f.write_str("the value ")?,
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Misread {}

/// Reads a whole document, which may be nested `max_depth` levels deep.
pub fn read<'de, T: Deserialize<'de>>(text: &'de str, max_depth: usize) -> Result<T, Misread> {
    if depth_exceeds(text.trim_ascii(), max_depth) {
        let problem = format!("is nested deeper than {max_depth} levels");
        return Err(Misread {
            mistake: Mistake::TooDeep,
            ..Misread::invalid("", problem)
        });
    }
    parse(text)
}

/// Reads a value inside a document whose depth was checked when the document was read.
pub fn read_part<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> Result<T, Misread> {
    parse(raw.get())
}

fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Misread> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Strict(&mut deserializer));
    value
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| find_mistake::<T>(text, error))
}

/// Parses `text` again, which could not be read as `T`, to find out where the mistake is.
#[cold]
fn find_mistake<'de, T: Deserialize<'de>>(text: &'de str, error: serde_json::Error) -> Misread {
    // A wrong type may stand before the place where the JSON breaks off: then the broken JSON is what to tell.
    let broken = match error.is_data() {
        true => serde_json::from_str::<&RawValue>(text).err(),
        false => Some(error),
    };
    if let Some(error) = broken {
        return Misread {
            mistake: Mistake::Syntax,
            ..Misread::invalid("", format!("is not valid JSON: {error}"))
        };
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(Strict(&mut deserializer)) {
        Err(error) => at(error.path(), error.inner()),
        // Both parses do the same.
        Ok(_) => Misread::invalid("", "cannot be read"),
    }
}

/// The mistake that serde reports at `path`.
fn at(path: &serde_path_to_error::Path, error: &serde_json::Error) -> Misread {
    let mut place = String::new();
    for segment in path {
        place = match segment {
            Segment::Seq { index } => join(&place, &format!("[{index}]")),
            Segment::Map { key } => join(&place, echo(key)),
            Segment::Enum { .. } | Segment::Unknown => place,
        };
    }
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&position).unwrap_or(&message);
    if let Some(name) = quoted(message, "missing field ") {
        return Misread::missing(&join(&place, name));
    }
    if let Some(name) = quoted(message, "duplicate field ") {
        return Misread::twice(&join(&place, name));
    }
    let is_element = place.is_empty() || place.ends_with(']');
    if message.starts_with("invalid type: null,") && !is_element {
        return Misread::missing(&place);
    }
    Misread::invalid(&place, remedy(message))
}

/// What a peer should write instead, made of serde's message.
fn remedy(message: &str) -> Cow<'static, str> {
    // The peer's own words stand before the last "expected".
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

/// What stands between backticks after `start`.
fn quoted<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message
        .strip_prefix(start)?
        .strip_prefix('`')?
        .strip_suffix('`')
}

/// The path of `inner` below `outer`.
fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", path) | (path, "") => path.to_owned(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}

/// For `#[serde(default, deserialize_with)]`: `null` stands for the default.
pub fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// For `#[serde(deserialize_with)]`: a string that is not blank.
pub fn not_blank<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + AsRef<str>,
    D: Deserializer<'de>,
{
    let text = T::deserialize(deserializer)?;
    match text.as_ref().trim().is_empty() {
        true => Err(D::Error::custom("must not be blank")),
        false => Ok(text),
    }
}

/// For `#[serde(default, deserialize_with)]`: a blank string is as good as absent.
pub fn blank_is_absent<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + AsRef<str>,
    D: Deserializer<'de>,
{
    let text = Option::<T>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.as_ref().trim().is_empty()))
}
