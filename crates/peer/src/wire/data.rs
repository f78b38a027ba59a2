//! Input and output of a handoff: text, or JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use jackfield_wire::json::{self, MAX_DEPTH};

/// Text, or JSON.
#[derive(Debug, Clone)]
pub enum Data {
    /// Text.
    Text(String),
    /// A JSON value; never a string when read.
    Json(Box<RawValue>),
}

impl Data {
    /// Converts a text that may hold JSON: an object or an array is data. Everything else is text, numbers
    /// too, because people write numbers. So is JSON that nests too deeply for later readers.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        if !json::is_container(&text) || json::depth_exceeds(text.trim_ascii(), MAX_DEPTH) {
            return Data::Text(text);
        }
        match serde_json::from_str(&text) {
            Ok(raw) => Data::Json(raw),
            Err(_) => Data::Text(text),
        }
    }

    /// Converts a JSON value: a string is text.
    pub fn from_value(raw: &RawValue) -> Self {
        match json::str_of(raw) {
            Some(text) => Data::Text(text.into_owned()),
            None => Data::Json(raw.to_owned()),
        }
    }

    /// Returns the text, or the JSON as written.
    pub fn as_str(&self) -> &str {
        match self {
            Data::Text(text) => text,
            Data::Json(raw) => raw.get(),
        }
    }

    /// Converts text that holds an object or an array to data; see [`from_text`](Self::from_text).
    pub(super) fn unquoted(self) -> Self {
        match self {
            Data::Text(text) => Data::from_text(text),
            data @ Data::Json(_) => data,
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Data::Text(text) => serializer.serialize_str(text),
            Data::Json(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(Data::from_value)
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Data::Text(one), Data::Text(other)) => one == other,
            (Data::Json(one), Data::Json(other)) => one.get() == other.get(),
            (Data::Text(_), Data::Json(_)) | (Data::Json(_), Data::Text(_)) => false,
        }
    }
}

impl Eq for Data {}
