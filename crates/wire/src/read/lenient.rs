//! Functions for `#[serde(default, deserialize_with)]` that accept any value: a value of the wrong type
//! counts as absent. For clients that must work with newer hubs, and for unimportant fields.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{BorrowedText, try_read};
use crate::json;

/// Reads a `T`, or returns the default for any other value.
pub fn lenient<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(try_read(raw.get()).unwrap_or_default())
}

/// Reads the elements of an array that are a `T`, and skips all other elements.
pub fn lenient_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let elements: Vec<&RawValue> = lenient(deserializer)?;
    let elements = elements.into_iter();
    Ok(elements.filter_map(|raw| try_read(raw.get())).collect())
}

/// Reads a string, or returns the default for any other value.
pub fn lenient_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: From<Cow<'de, str>> + Default,
    D: Deserializer<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(json::str_of(raw).map_or_else(T::default, T::from))
}

/// Reads the strings among the elements of an array.
pub fn lenient_texts<'de, D>(deserializer: D) -> Result<Vec<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts: Vec<BorrowedText<'de>> = lenient_list(deserializer)?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

/// Reads a number from 0, rounded down to a whole number; returns 0 for any other value.
pub fn lenient_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = <&RawValue>::deserialize(deserializer)?.get();
    let cut = || {
        let number: f64 = text.parse().ok()?;
        // The cast saturates, and JSON has no NaN.
        (number >= 0.0).then_some(number as u64)
    };
    Ok(text.parse().ok().or_else(cut).unwrap_or_default())
}
