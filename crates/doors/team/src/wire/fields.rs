//! The fields of one object, each read as the type it must have.
//!
//! `null` counts as absent. A name given twice is refused whatever it is: parsers disagree on which one holds, and the
//! flattened form copies the fields into an object of its own.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Fault, Limits};
use jackfield_wire::json::{self, Members};

/// Why a field that must be there is missed.
pub(super) const REQUIRED: &str = "is required";

/// The value that `text` is, if it is not nested too deeply.
pub(super) fn value<'a>(text: &'a str, limits: &Limits) -> Result<&'a RawValue, Fault> {
    if json::depth_exceeds(text.trim_ascii(), limits.max_depth) {
        let max = limits.max_depth;
        return Err(Fault::here(format!("is nested deeper than {max} levels")));
    }
    serde_json::from_str(text).map_err(|error| Fault::here(format!("is not valid JSON: {error}")))
}

/// The fields of one object.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    /// The fields of `raw`.
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Fault> {
        let members = Members::of(raw).ok_or_else(|| Fault::here("must be an object"))?;
        let mut names: Vec<_> = members.iter().map(|member| &*member.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Fault::at(pair[0], "is given twice")),
            None => Ok(Fields(members)),
        }
    }

    /// The value of a field.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name)
    }

    /// What `read` makes of a field, if it is there.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let value = self.raw(name).map(read).transpose();
        value.map_err(|fault| fault.within(name))
    }

    /// What `read` makes of a field that must be there.
    pub(super) fn require<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.read(name, read)?
            .ok_or_else(|| Fault::at(name, REQUIRED))
    }

    /// The text of a field.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        self.read(name, text)
    }

    /// The text of a field that is as good as absent when it is blank.
    pub(super) fn word(&self, name: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        Ok(self.text(name)?.filter(|word| !word.trim().is_empty()))
    }

    /// The text of a field that must be there.
    pub(super) fn require_text(&self, name: &str) -> Result<Cow<'a, str>, Fault> {
        self.require(name, text)
    }

    /// The text of a field that must not be blank.
    pub(super) fn require_word(&self, name: &str) -> Result<Cow<'a, str>, Fault> {
        let word = self.require_text(name)?;
        if word.trim().is_empty() {
            return Err(Fault::at(name, "must not be blank"));
        }
        Ok(word)
    }

    /// The fields of an object in a field that must be there.
    pub(super) fn require_object(&self, name: &str) -> Result<Fields<'a>, Fault> {
        self.require(name, Fields::of)
    }

    /// The one of two spellings of a name that is used; refused if both are.
    pub(super) fn spelling<'n>(&self, camel: &'n str, snake: &'n str) -> Result<&'n str, Fault> {
        match (self.raw(camel), self.raw(snake)) {
            (Some(_), Some(_)) => Err(Fault::at(camel, "is given twice")),
            (Some(_), None) => Ok(camel),
            (None, _) => Ok(snake),
        }
    }
}

/// The text of a string.
pub(super) fn text(raw: &RawValue) -> Result<Cow<'_, str>, Fault> {
    json::str_of(raw).ok_or_else(|| Fault::here("must be a string"))
}

/// The elements of a list.
pub(super) fn list<'a, T>(
    raw: &'a RawValue,
    read: impl Fn(&'a RawValue) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let elements = json::elements(raw).ok_or_else(|| Fault::here("must be an array"))?;
    let elements = elements.into_iter().enumerate();
    elements
        .map(|(index, raw)| read(raw).map_err(|fault| fault.within(&format!("[{index}]"))))
        .collect()
}

/// A whole number from 0, or one in a string.
pub(super) fn number(raw: &RawValue) -> Result<u64, Fault> {
    let raw = raw.get();
    let digits = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    let number = digits.unwrap_or(raw).parse();
    number.map_err(|_| Fault::here("must be a whole number from 0"))
}
