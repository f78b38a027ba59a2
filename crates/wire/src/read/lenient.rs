//! Functions for `#[serde(default, deserialize_with)]` that take any value: one of the wrong type is as good as absent.
//! For clients that must get along with newer hubs, and for fields on which nothing depends.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Borrowed, try_read};
use crate::json;

/// The value if it is a `T`, or else the default.
pub fn lenient<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(try_read(raw.get()).unwrap_or_default())
}

/// The elements of an array that are each a `T`.
pub fn lenient_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let elements: Vec<&RawValue> = lenient(deserializer)?;
    let elements = elements.into_iter();
    Ok(elements.filter_map(|raw| try_read(raw.get())).collect())
}

/// The text if it is a string, or else the default.
pub fn lenient_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: From<Cow<'de, str>> + Default,
    D: Deserializer<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(json::str_of(raw).map_or_else(T::default, T::from))
}

/// The strings among the elements of an array.
pub fn lenient_texts<'de, D>(deserializer: D) -> Result<Vec<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts: Vec<Borrowed<'de>> = lenient_list(deserializer)?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

/// A number from 0, cut to a whole one; 0 for anything else.
pub fn lenient_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = <&RawValue>::deserialize(deserializer)?.get();
    let cut = || {
        let number: f64 = text.parse().ok()?;
        // The cast saturates, and there is no NaN in JSON.
        (number >= 0.0).then_some(number as u64)
    };
    Ok(text.parse().ok().or_else(cut).unwrap_or_default())
}
