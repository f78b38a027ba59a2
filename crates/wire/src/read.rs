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
//!
//! Functions for `#[serde(deserialize_with)]` stand beside: [`or_default`] and others for strict readers, [`lenient`] and
//! others for readers that ignore what they cannot use. [`Open`] keeps the fields that a struct does not have.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Error};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::echo;
use crate::json::{Member, Members, depth_exceeds};

mod fields;
mod lenient;
mod open;
mod strict;
#[cfg(test)]
mod tests;

pub use fields::{
    Borrowed, array, blank_is_absent, not_blank, or_default, text, texts, verbatim, word,
};
pub use lenient::{lenient, lenient_list, lenient_number, lenient_text, lenient_texts};
pub use open::Open;
use strict::Strict;

/// Separates the parts of a [`Misread`] inside the message of an error. No message of serde begins with it.
const NESTED: char = '\u{1}';

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

    /// The field at `path` is nested more than `max` levels deep.
    pub fn too_deep(path: &str, max: usize) -> Self {
        Misread {
            mistake: Mistake::TooDeep,
            ..Self::invalid(path, format!("is nested deeper than {max} levels"))
        }
    }

    /// The text is not JSON, or another JSON value than an object.
    pub fn no_object(error: &serde_json::Error) -> Self {
        match error.is_data() {
            true => Self::invalid("", "must be a JSON object"),
            false => Self::broken(error),
        }
    }

    /// The text is not JSON.
    fn broken(error: &serde_json::Error) -> Self {
        Misread {
            mistake: Mistake::Syntax,
            ..Self::invalid("", format!("is not valid JSON: {error}"))
        }
    }

    /// Hands the mistake to the reader of the document around the value, which adds its own path.
    ///
    /// For a `Deserialize` that reads a [`RawValue`] and then its content by [`read_part`].
    pub fn into_error<E: Error>(self) -> E {
        let mistake = match self.mistake {
            Mistake::Missing => "missing",
            Mistake::Twice => "twice",
            Mistake::Syntax | Mistake::TooDeep | Mistake::Invalid => "invalid",
        };
        E::custom(format!(
            "{NESTED}{mistake}{NESTED}{}{NESTED}{}",
            self.path, self.problem
        ))
    }

    /// Reads what [`Misread::into_error`] wrote.
    fn from_error(message: &str) -> Option<Self> {
        let (mistake, rest) = message.strip_prefix(NESTED)?.split_once(NESTED)?;
        // A path may have a peer's own words, a problem has them escaped.
        let (path, problem) = rest.rsplit_once(NESTED)?;
        let mistake = match mistake {
            "missing" => Mistake::Missing,
            "twice" => Mistake::Twice,
            _ => Mistake::Invalid,
        };
        Some(Misread {
            mistake,
            ..Self::invalid(path, problem.to_owned())
        })
    }

    /// The path of the wrong field; `None` if the value itself is wrong.
    pub fn field(&self) -> Option<&str> {
        Some(&*self.path).filter(|path| !path.is_empty())
    }

    /// Writes the mistake as a sentence about a frame, of which `frame_type` is the type if that could be read.
    pub fn fmt_frame(&self, frame_type: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot write lines of its own into a log.
        if let Some(frame_type) = frame_type {
            write!(f, "{}: ", frame_type.escape_debug())?;
        }
        match self.field() {
            Some(_) => fmt::Display::fmt(self, f),
            None => write!(f, "the frame {}", self.problem),
        }
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
        return Err(Misread::too_deep("", max_depth));
    }
    parse(text)
}

/// Checks how deep the fields of an object are nested, and names the first that is nested more than `max_depth` levels.
///
/// For readers of several types, who then read with `usize::MAX`.
pub fn check_fields_depth(text: &str, max_depth: usize) -> Result<(), Misread> {
    // The object itself is a level too.
    if !depth_exceeds(text.trim_ascii(), max_depth.saturating_add(1)) {
        return Ok(());
    }
    let members: Members<'_> =
        serde_json::from_str(text).map_err(|error| Misread::no_object(&error))?;
    let is_deep = |member: &&Member<'_>| depth_exceeds(member.value.get(), max_depth);
    let field = members.iter().find(is_deep).map(|member| &*member.name);
    Err(Misread::too_deep(field.unwrap_or_default(), max_depth))
}

/// Reads a whole document if it is a `T`. What is wrong with another one is not found out.
pub fn try_read<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Strict(&mut deserializer)).ok()?;
    deserializer.end().is_ok().then_some(value)
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
        .map_err(|error| find_mistake::<T>(text, &error))
}

/// Parses `text` again, which could not be read as `T`, to find out where the mistake is.
#[cold]
fn find_mistake<'de, T: Deserialize<'de>>(text: &'de str, error: &serde_json::Error) -> Misread {
    // A wrong type may stand before the place where the JSON breaks off: then the broken JSON is what to tell. A lone
    // surrogate is no broken JSON, though serde_json says so where it wants no string.
    if let Err(broken) = serde_json::from_str::<&RawValue>(text) {
        return Misread::broken(&broken);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(Strict(&mut deserializer)) {
        Err(path) => at(path.path(), path.inner()),
        // Both parses do the same.
        Ok(_) => Misread::broken(error),
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
    if !error.is_data() {
        let surrogate = "must be another value than a string with a lone surrogate";
        return match place.is_empty() {
            true => Misread::broken(error),
            false => Misread::invalid(&place, surrogate),
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
    if let Some(misread) = Misread::from_error(message) {
        return Misread {
            path: join(&place, &misread.path),
            ..misread
        };
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
