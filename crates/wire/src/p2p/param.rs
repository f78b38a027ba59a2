//! The parameters of a request: values for the placeholders of its path, and further values without a
//! placeholder.

use std::collections::BTreeMap;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{self, Members};
use crate::read::Misread;

/// Parameters by name.
pub type Params = BTreeMap<String, Param>;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A string.
    Text(String),
    /// A number as written.
    Number(Box<str>),
    /// A boolean.
    Flag(bool),
    /// An object or an array as written; cannot be used in a path.
    Structured(Box<str>),
}

impl Param {
    /// Reads a value; `None` for `null`.
    pub fn from_value(raw: &RawValue) -> Option<Self> {
        match (raw.get(), json::str_of(raw)) {
            (_, Some(text)) => Some(Param::Text(text.into_owned())),
            ("true", None) => Some(Param::Flag(true)),
            ("false", None) => Some(Param::Flag(false)),
            _ if json::is_null(raw) => None,
            (value, None) if json::is_container(value) => Some(Param::Structured(value.into())),
            (number, None) => Some(Param::Number(number.into())),
        }
    }

    /// Returns the value as used in a path, before encoding. Booleans are written as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Param::Text(text) => text,
            Param::Number(json) | Param::Structured(json) => json,
            Param::Flag(true) => "true",
            Param::Flag(false) => "false",
        }
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Param::Text(text.to_owned())
    }
}

impl Serialize for Param {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Param::Text(text) => serializer.serialize_str(text),
            Param::Flag(flag) => serializer.serialize_bool(*flag),
            Param::Number(json) | Param::Structured(json) => {
                let raw: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

/// Reads the parameters of a request, without `null` parameters. Whether a value fits into the path is
/// checked by [`expand`](super::path::expand).
pub fn read_params(raw: &RawValue) -> Result<Params, Misread> {
    let members = Members::of(raw).ok_or_else(|| Misread::invalid("", "must be an object"))?;
    let mut params = BTreeMap::new();
    for member in members.iter() {
        let param = Param::from_value(member.value);
        if params.insert(member.name.to_string(), param).is_some() {
            return Err(Misread::twice(&member.name));
        }
    }
    let given = params.into_iter();
    Ok(given
        .filter_map(|(name, param)| Some((name, param?)))
        .collect())
}
