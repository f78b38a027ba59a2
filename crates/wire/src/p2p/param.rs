//! The parameters of a request: values for the placeholders of its path, and further values without a
//! placeholder.

use std::collections::BTreeMap;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{self, RawMembers};
use crate::read::FieldError;

/// Parameters by name.
pub type PathParams = BTreeMap<String, PathParam>;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathParam {
    /// A string.
    Text(String),
    /// A number as written.
    Number(Box<str>),
    /// A boolean.
    Flag(bool),
    /// An object or an array as written; cannot be used in a path.
    Structured(Box<str>),
}

impl PathParam {
    /// Reads a value; `None` for `null`.
    pub fn from_value(raw: &RawValue) -> Option<Self> {
        match (raw.get(), json::str_of(raw)) {
            (_, Some(text)) => Some(PathParam::Text(text.into_owned())),
            ("true", None) => Some(PathParam::Flag(true)),
            ("false", None) => Some(PathParam::Flag(false)),
            _ if json::is_null(raw) => None,
            (value, None) if json::is_container(value) => Some(PathParam::Structured(value.into())),
            (number, None) => Some(PathParam::Number(number.into())),
        }
    }

    /// Returns the value as used in a path, before encoding. Booleans are written as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            PathParam::Text(text) => text,
            PathParam::Number(json) | PathParam::Structured(json) => json,
            PathParam::Flag(true) => "true",
            PathParam::Flag(false) => "false",
        }
    }
}

impl From<&str> for PathParam {
    fn from(text: &str) -> Self {
        PathParam::Text(text.to_owned())
    }
}

impl Serialize for PathParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PathParam::Text(text) => serializer.serialize_str(text),
            PathParam::Flag(flag) => serializer.serialize_bool(*flag),
            PathParam::Number(json) | PathParam::Structured(json) => {
                let raw: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

/// Reads the parameters of a request, without `null` parameters. Whether a value fits into the path is
/// checked by [`expand`](super::path::expand).
pub fn read_params(raw: &RawValue) -> Result<PathParams, FieldError> {
    let members =
        RawMembers::of(raw).ok_or_else(|| FieldError::invalid("", "must be an object"))?;
    let mut params = BTreeMap::new();
    for member in members.iter() {
        let param = PathParam::from_value(member.value);
        if params.insert(member.name.to_string(), param).is_some() {
            return Err(FieldError::duplicate(&member.name));
        }
    }
    let given = params.into_iter();
    Ok(given
        .filter_map(|(name, param)| Some((name, param?)))
        .collect())
}
