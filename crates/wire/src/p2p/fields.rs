//! The fields of one object, each read as the type it must have.
//!
//! `null` counts as absent. A field that we read may not be given twice: parsers disagree on which one holds. Fields that
//! we do not read may be anything.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Fault, Limits, cut};
use crate::json::{self, Members};

/// Why a field that must be there is missed.
pub const REQUIRED: &str = "is required";

/// The value that `bytes` are, if they are within the limits.
pub fn value<'a>(bytes: &'a [u8], limits: &Limits) -> Result<&'a RawValue, Fault> {
    if bytes.len() > limits.max_bytes {
        return Err(Fault::too_large(limits.max_bytes, "bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::here("is not UTF-8"))?;
    if text.trim_ascii().is_empty() {
        return Err(Fault::here("is empty"));
    }
    if json::depth_exceeds(text.trim_ascii(), limits.max_depth) {
        return Err(too_deep(limits.max_depth));
    }
    serde_json::from_str(text).map_err(|error| Fault::here(format!("is not valid JSON: {error}")))
}

/// A body is nested too deeply.
pub fn too_deep(max: usize) -> Fault {
    Fault::here(format!("is nested deeper than {max} levels"))
}

/// The fields of one object.
#[derive(Debug, Default)]
pub struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    /// The fields of `raw`.
    pub fn of(raw: &'a RawValue) -> Result<Self, Fault> {
        let members = Members::of(raw).ok_or_else(|| Fault::here("must be an object"))?;
        Ok(Fields(members))
    }

    /// The value of a field.
    pub fn raw(&self, name: &str) -> Result<Option<&'a RawValue>, Fault> {
        let mut values = self.0.iter().filter(|member| member.name == name);
        let first = values.next().map(|member| member.value);
        match values.next() {
            Some(_) => Err(Fault::at(name, "is given twice")),
            None => Ok(first.filter(|value| !json::is_null(value))),
        }
    }

    /// What `read` makes of a field, if it is there.
    pub fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let value = self.raw(name)?.map(read).transpose();
        value.map_err(|fault| fault.within(name))
    }

    /// What `read` makes of a field that must be there.
    pub fn require<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.read(name, read)?
            .ok_or_else(|| Fault::at(name, REQUIRED))
    }

    /// The first of several spellings of a field that is there.
    pub fn any_of<T>(
        &self,
        names: &[&str],
        read: impl Fn(&'a RawValue) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        for name in names {
            if let Some(value) = self.read(name, &read)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The text of a field, cut to `max` bytes; empty if it is not there.
    pub fn cut_text(&self, name: &str, max: usize) -> Result<String, Fault> {
        let text = self.read(name, text)?.unwrap_or_default();
        Ok(cut(&text, max).to_owned())
    }

    /// Walks over all fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|member| (&*member.name, member.value))
    }
}

/// The text of a string.
pub fn text(raw: &RawValue) -> Result<Cow<'_, str>, Fault> {
    json::str_of(raw).ok_or_else(|| Fault::here("must be a string"))
}

/// The text of a string that is not blank and has at most `max` bytes.
pub fn word(raw: &RawValue, max: usize) -> Result<String, Fault> {
    let word = text(raw)?;
    if word.trim().is_empty() {
        return Err(Fault::here("must not be blank"));
    }
    if word.len() > max {
        return Err(Fault::too_large(max, "bytes"));
    }
    Ok(word.into_owned())
}

/// The elements of a list.
pub fn elements(raw: &RawValue) -> Result<Vec<&RawValue>, Fault> {
    json::elements(raw).ok_or_else(|| Fault::here("must be an array"))
}

/// The elements of a list of at most `max`.
pub fn list<'a, T>(
    raw: &'a RawValue,
    max: usize,
    read: impl Fn(&'a RawValue) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let elements = elements(raw)?;
    if elements.len() > max {
        return Err(Fault::too_large(max, "entries"));
    }
    let elements = elements.into_iter().enumerate();
    elements
        .map(|(index, raw)| read(raw).map_err(|fault| fault.within(&format!("[{index}]"))))
        .collect()
}

/// A whole number from 0.
pub fn number<T: std::str::FromStr>(raw: &RawValue) -> Result<T, Fault> {
    let number = raw.get().parse();
    number.map_err(|_| Fault::here("must be a whole number from 0"))
}

/// True or false.
pub fn flag(raw: &RawValue) -> Result<bool, Fault> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Fault::here("must be true or false")),
    }
}
