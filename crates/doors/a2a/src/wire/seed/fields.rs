//! The fields of one object, each read as the type it must have. `null` counts as absent, as in the original; a field
//! given twice does not count as anything, since parsers disagree on which one holds.

use std::borrow::Cow;

use serde_json::value::RawValue;

use jackfield_wire::json::{self, Member, Members};

/// A field that cannot be read: where it is and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    field: String,
    problem: &'static str,
}

impl Unreadable {
    pub(super) fn new(field: impl Into<String>, problem: &'static str) -> Self {
        Unreadable {
            field: field.into(),
            problem,
        }
    }

    /// The same, seen from the object that holds this one at `place`.
    pub(super) fn within(mut self, place: &str) -> Self {
        self.field = format!("{place}.{}", self.field);
        self
    }

    /// The sentence about it.
    pub(super) fn detail(&self) -> String {
        format!("field \"{}\" {}", self.field, self.problem)
    }
}

/// The fields of one object.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(members: Members<'a>) -> Self {
        Fields(members)
    }

    /// The fields of `raw`, which stands at `place`.
    pub(super) fn of(raw: &'a RawValue, place: &str) -> Result<Self, Unreadable> {
        match Members::of(raw) {
            Some(members) => Ok(Fields(members)),
            None => Err(Unreadable::new(place, "must be an object")),
        }
    }

    /// The value of a field.
    pub(super) fn raw(&self, name: &str) -> Result<Option<&'a RawValue>, Unreadable> {
        let mut found = self.0.iter().filter(|member| member.name == name);
        let value = found.next().map(|member| member.value);
        if found.next().is_some() {
            return Err(Unreadable::new(name, "is given twice"));
        }
        Ok(value.filter(|value| !json::is_null(value)))
    }

    /// The text of a field.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Unreadable> {
        let Some(raw) = self.raw(name)? else {
            return Ok(None);
        };
        match json::str_of(raw) {
            Some(text) => Ok(Some(text)),
            None => Err(Unreadable::new(name, "must be a string")),
        }
    }

    /// The text of a field that is as good as absent when it is empty.
    pub(super) fn word(&self, name: &str) -> Result<Cow<'a, str>, Unreadable> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// The fields of an object in a field.
    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Unreadable> {
        let raw = self.raw(name)?;
        raw.map(|raw| Fields::of(raw, name)).transpose()
    }

    /// The elements of a list in a field.
    pub(super) fn list(&self, name: &str) -> Result<Vec<&'a RawValue>, Unreadable> {
        let Some(raw) = self.raw(name)? else {
            return Ok(Vec::new());
        };
        json::elements(raw).ok_or_else(|| Unreadable::new(name, "must be a list"))
    }

    /// The fields that are not among `known`, in their order.
    pub(super) fn rest(&self, known: &[&str]) -> Vec<Member<'a>> {
        let unknown = |member: &&Member<'a>| !known.contains(&&*member.name);
        self.0.iter().filter(unknown).cloned().collect()
    }
}
