//! JSON that the core passes on without looking inside.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::Offer;

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

    /// `null`.
    fn null() -> Self {
        Self(RawValue::NULL.to_owned().into())
    }

    /// The value as a tree.
    pub fn to_value(&self) -> Value {
        // The text was checked when it became a `Json`.
        serde_json::from_str(self.get()).unwrap_or_default()
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

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        // A tree has text keys and finite numbers, so that it can always be written.
        Self::of(&value).unwrap_or_else(|_| Self::null())
    }
}

impl From<Offer> for Json {
    fn from(offer: Offer) -> Self {
        // Texts and numbers can always be written.
        Self::of(&offer).unwrap_or_else(|_| Self::null())
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
