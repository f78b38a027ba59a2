//! JSON that the core passes on without looking inside.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value that the core passes on without looking inside.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Any serialisable value as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|raw| Self(raw.into()))
    }

    /// JSON that was already written; checked for being one value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The raw value, for serialising.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}
