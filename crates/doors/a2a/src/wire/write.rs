//! Helpers for the writers of all dialects.

use jackfield_wire::json::{self, RawMember};
use serde::{Serialize, Serializer};

/// Serializes a value to JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and raw JSON can always be written")
}

/// List of names and texts, serialized as an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'a>(pub(crate) &'a [(&'static str, String)]);

impl Texts<'_> {
    /// Returns true if the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

/// List of members, serialized as an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MembersOut<'a>(pub(crate) &'a [RawMember<'a>]);

impl Serialize for MembersOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json::members(self.0, serializer)
    }
}
