//! Deserialization of fields, beyond derives.
//!
//! The rules follow the JSON form of Protocol Buffers: a name may be spelt `likeThis` or `like_this` (structs
//! declare an `alias`), `null` counts as absent, and numbers may be strings.

use jackfield_model::Base64;
use jackfield_wire::{
    json::{self, RawMember},
    read::{self, FieldError},
};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

use super::{
    A2aVersion,
    error::A2aError,
    model::{Extra, Raw},
};

/// Message for a missing field.
const REQUIRED: &str = "is required";
const NO_OBJECT: &str = "must be an object";

impl From<FieldError> for A2aError {
    fn from(misread: FieldError) -> Self {
        let path = misread.field().unwrap_or("params").to_owned();
        A2aError::field(path, misread.problem)
    }
}

/// Returns an error about the value itself.
pub(super) fn here(problem: impl Into<std::borrow::Cow<'static, str>>) -> FieldError {
    FieldError::invalid("", problem)
}

/// Reads `params`. Absent params count as an empty object; the nesting may not exceed `max_depth`.
pub(super) fn read_params<'a, T: Deserialize<'a>>(
    params: Option<&'a RawValue>,
    max_depth: usize,
) -> Result<T, FieldError> {
    let params = params.filter(|params| !json::is_null(params));
    read::read(params.map_or("{}", RawValue::get), max_depth)
}

/// Collects the unknown fields of a struct.
pub(super) fn extra(version: A2aVersion, rest: &[RawMember<'_>]) -> Extra {
    let fields: Vec<_> = rest
        .iter()
        .map(|member| (member.name.to_string(), own(member.value)))
        .collect();
    Extra {
        version: (!fields.is_empty()).then_some(version),
        fields,
    }
}

/// Reads a text for `deserialize_with`; an empty text counts as absent.
pub(super) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Reads a text like [`word`], from a field that only some callers use.
pub(super) fn word_in(field: &str, raw: Option<&RawValue>) -> Result<Option<String>, FieldError> {
    let Some(raw) = raw else { return Ok(None) };
    let text: String = read::read_part(raw).map_err(|misread| misread.within(field))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Reads a text for `deserialize_with`; the text must not be empty.
pub(super) fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Err(D::Error::custom(REQUIRED));
    }
    Ok(text)
}

/// Reads a value for `deserialize_with`; `null` counts as present.
pub(super) fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Any JSON object, unchanged.
#[derive(Debug)]
pub(super) struct RawObject(pub(super) Raw);

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with('{') {
            Ok(Self(own(raw)))
        } else {
            Err(D::Error::custom(NO_OBJECT))
        }
    }
}

/// Integer, also in the form `1.0` or in a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct Integer(pub(super) i64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = number(<&RawValue>::deserialize(deserializer)?);
        number
            .map(Self)
            .ok_or_else(|| D::Error::custom("must be an integer"))
    }
}

/// Integer that is not negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountField(pub(super) usize);

impl<'de> Deserialize<'de> for CountField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Integer(number) = Integer::deserialize(deserializer)?;
        count(Some(number))
            .map(Self)
            .map_err(|misread| D::Error::custom(misread.problem))
    }
}

/// Bytes in standard base64.
#[derive(Debug)]
pub(super) struct Base64Bytes(pub(super) String);

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Base64::normalize(text)
            .map(Self)
            .ok_or_else(|| D::Error::custom("must be base64"))
    }
}

/// Returns true if `given` is `name` in either spelling.
pub(in crate::wire) fn is_name(given: &str, name: &str) -> bool {
    if given == name {
        return true;
    }
    let mut given = given.bytes();
    let mut is_next = |byte| given.next() == Some(byte);
    let has_all = name.bytes().all(|byte| {
        if byte.is_ascii_uppercase() {
            is_next(b'_') && is_next(byte.to_ascii_lowercase())
        } else {
            is_next(byte)
        }
    });
    has_all && given.next().is_none()
}

/// Copies a value onto a single line, because the copy may go into an event stream.
pub(super) fn own(raw: &RawValue) -> Raw {
    if !raw.get().contains(['\n', '\r']) {
        return raw.to_owned();
    }
    // Without whitespace the JSON has the same meaning.
    RawValue::from_string(json::compact(raw)).unwrap_or_else(|_| raw.to_owned())
}

/// Reads an integer, also from a string; `None` for other values.
pub(super) fn number(raw: &RawValue) -> Option<i64> {
    let raw = raw.get();
    let digits = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    integer(digits.unwrap_or(raw))
}

/// Parses an integer, also in the form `1.0` or `1e2`.
pub(super) fn integer(text: &str) -> Option<i64> {
    /// Largest integer up to which a double represents every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let is_integer = number.fract() == 0.0 && number.abs() <= EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is within the range")]
    is_integer.then_some(number as i64)
}

/// Checks that a number is not negative.
pub(super) fn count(number: Option<i64>) -> Result<usize, FieldError> {
    let number = number.ok_or_else(|| here("must be an integer"))?;
    usize::try_from(number).map_err(|_| here("must not be negative"))
}
