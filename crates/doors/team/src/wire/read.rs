//! Reading of JSON objects from a peer.

use jackfield_wire::{
    json::RawMembers,
    read::{FieldError, not_blank, read_part},
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Reads an object and refuses duplicate field names, including names unknown to `T`. The flattened form
/// copies unknown fields into a new object, and parsers disagree about the value of a duplicate.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, FieldError> {
    let value = read_part(raw)?;
    let members = RawMembers::of(raw).unwrap_or_default();
    let mut names: Vec<_> = members.iter().map(|member| &*member.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(FieldError::duplicate(pair[0])),
        None => Ok(value),
    }
}

/// String that is not blank.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct NonBlankText(#[serde(deserialize_with = "not_blank")] pub(super) String);

/// Object whose fields are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct IgnoredObject {}
