//! Reading one object that a peer wrote.

use jackfield_wire::{
    json::Members,
    read::{Misread, not_blank, read_part},
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Reads an object in which no name is given twice, whether `T` has such a field or not: the flattened form copies the
/// fields that nobody here knows into an object of its own, and parsers disagree on which of two values holds.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Misread> {
    let value = read_part(raw)?;
    let members = Members::of(raw).unwrap_or_default();
    let mut names: Vec<_> = members.iter().map(|member| &*member.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Misread::twice(pair[0])),
        None => Ok(value),
    }
}

/// A string that is not blank.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Word(#[serde(deserialize_with = "not_blank")] pub(super) String);

/// An object of which no field matters.
#[derive(Debug, Deserialize)]
pub(super) struct AnyObject {}
