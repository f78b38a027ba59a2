//! [`Json`]: a JSON value that the core passes on without parsing its contents.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::Offer;

/// A JSON value that the core passes on without parsing its contents. Clones share the text.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Serialises any value to JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|raw| Self(raw.into()))
    }

    /// Checks that `text` is a single JSON value and wraps it.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns `null`.
    fn null() -> Self {
        Self(RawValue::NULL.to_owned().into())
    }

    /// Returns the value as a tree.
    pub fn to_value(&self) -> Value {
        // The text was checked at the creation of the `Json`.
        serde_json::from_str(self.get()).unwrap_or_default()
    }

    /// Returns the JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the raw value, for serialising.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        // A tree has text keys and finite numbers, therefore it can always be serialised.
        Self::of(&value).unwrap_or_else(|_| Self::null())
    }
}

impl From<Offer> for Json {
    fn from(offer: Offer) -> Self {
        // An offer holds only texts and numbers, which can always be serialised.
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
