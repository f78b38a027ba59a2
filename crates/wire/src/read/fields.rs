//! Strict functions for `#[serde(deserialize_with)]`: a value of the wrong type is an error.
//!
//! The functions for texts borrow. serde's own [`Cow`] borrows only as the field itself and not inside an
//! `Option`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_json::value::RawValue;

use crate::json;

/// For `#[serde(default, deserialize_with)]`: reads a `T`; `null` gives the default.
pub fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// For `#[serde(deserialize_with)]`: reads a string and refuses a blank string.
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

/// For `#[serde(default, deserialize_with)]`: reads a string; a blank string counts as absent.
pub fn blank_is_absent<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + AsRef<str>,
    D: Deserializer<'de>,
{
    let text = Option::<T>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.as_ref().trim().is_empty()))
}

/// A string that borrows from the document unless the string has escapes.
#[derive(Debug, Clone, Default)]
pub struct BorrowedText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text))
            }
        }
        deserializer.deserialize_str(TextVisitor).map(BorrowedText)
    }
}

/// For `#[serde(default, deserialize_with)]`: reads a string; `null` gives the default.
pub fn text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: From<Cow<'de, str>> + Default,
    D: Deserializer<'de>,
{
    let text = Option::<BorrowedText<'de>>::deserialize(deserializer)?;
    Ok(text.map_or_else(T::default, |text| text.0.into()))
}

/// For `#[serde(default, deserialize_with)]`: reads a string; `null` and the empty string count as absent.
pub fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    let word: Option<Cow<'de, str>> = text(deserializer)?;
    Ok(word.filter(|word| !word.is_empty()))
}

/// For `#[serde(default, deserialize_with)]`: reads an array of strings; `null` gives an empty array.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cow<'de, str>>, D::Error> {
    let texts: Vec<BorrowedText<'de>> = or_default(deserializer)?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

/// For `#[serde(default, deserialize_with)]`: returns any value as written, including `null`.
pub fn verbatim<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// For `#[serde(deserialize_with)]`: returns an array as written.
pub fn array<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'de RawValue, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    match raw {
        Some(raw) if json::is_array(raw) => Ok(raw),
        Some(_) => Err(D::Error::custom("must be an array")),
        None => Err(D::Error::invalid_type(Unexpected::Unit, &"an array")),
    }
}
