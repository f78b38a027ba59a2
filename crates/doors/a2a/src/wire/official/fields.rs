//! The fields of one object, each read as the type it must have.
//!
//! A name may be spelt `likeThis` or `like_this`, `null` counts as absent, numbers may stand in strings: what the JSON form
//! of Protocol Buffers allows. A field given twice, in whatever spelling, is refused, since parsers disagree on which holds.

use std::borrow::Cow;

use jackfield_wire::json::{self, Members};
use serde_json::value::RawValue;

use super::{
    Version,
    error::Fault,
    model::{Extra, Raw},
};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    path: String,
    why: Cow<'static, str>,
}

impl Wrong {
    /// The value itself is wrong.
    pub(super) fn here(why: impl Into<Cow<'static, str>>) -> Self {
        Self::at("", why)
    }

    /// A field of it is.
    pub(super) fn at(field: &str, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: field.to_owned(),
            why: why.into(),
        }
    }

    /// The same, seen from the object that holds this one in `field`.
    pub(super) fn within(mut self, field: &str) -> Self {
        if self.path.is_empty() || self.path.starts_with('[') {
            self.path.insert_str(0, field);
        } else {
            self.path = format!("{field}.{}", self.path);
        }
        self
    }

    /// The same, seen from the list that holds this one.
    pub(super) fn within_list(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl From<Wrong> for Fault {
    fn from(wrong: Wrong) -> Self {
        let path = Some(wrong.path).filter(|path| !path.is_empty());
        Fault::field(path.unwrap_or_else(|| "params".into()), wrong.why)
    }
}

/// Why a field that must be there is missed.
pub(super) const REQUIRED: &str = "is required";

/// The fields of one object.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    /// The fields of `raw`.
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Wrong> {
        let members = Members::of(raw);
        members
            .map(Fields)
            .ok_or_else(|| Wrong::here("must be an object"))
    }

    /// The fields of `params`, which need not be there but may not be nested deeper than `max_depth`.
    pub(super) fn of_params(params: Option<&'a RawValue>, max_depth: usize) -> Result<Self, Wrong> {
        let Some(params) = params.filter(|params| !json::is_null(params)) else {
            return Ok(Self::default());
        };
        if json::depth_exceeds(params.get(), max_depth) {
            let why = format!("must not be nested deeper than {max_depth} levels");
            return Err(Wrong::here(why));
        }
        Self::of(params)
    }

    /// The value of a field, be it `null`.
    pub(super) fn given(&self, name: &str) -> Result<Option<&'a RawValue>, Wrong> {
        let mut found = self.0.iter().filter(|member| is_name(&member.name, name));
        let value = found.next().map(|member| member.value);
        match found.next() {
            Some(_) => Err(Wrong::at(name, "is given twice")),
            None => Ok(value),
        }
    }

    /// The value of a field.
    pub(super) fn raw(&self, name: &str) -> Result<Option<&'a RawValue>, Wrong> {
        Ok(self.given(name)?.filter(|value| !json::is_null(value)))
    }

    /// What `read` makes of a field, if it is there.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        let value = self.raw(name)?.map(read).transpose();
        value.map_err(|wrong| wrong.within(name))
    }

    /// What `read` makes of a field that must be there.
    pub(super) fn require<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        let value = self.read(name, read)?;
        value.ok_or_else(|| Wrong::at(name, REQUIRED))
    }

    /// The text of a field.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Wrong> {
        self.read(name, text)
    }

    /// The text of a field that is as good as absent when it is empty.
    pub(super) fn word(&self, name: &str) -> Result<Option<String>, Wrong> {
        Ok(self.text(name)?.filter(|word| !word.is_empty()))
    }

    /// The text of a field that must not be empty.
    pub(super) fn require_word(&self, name: &str) -> Result<String, Wrong> {
        let word = self.word(name)?;
        word.ok_or_else(|| Wrong::at(name, REQUIRED))
    }

    /// The fields of an object in a field.
    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Wrong> {
        self.read(name, Fields::of)
    }

    /// An object in a field, as it is.
    pub(super) fn metadata(&self, name: &str) -> Result<Option<Raw>, Wrong> {
        self.read(name, |raw| {
            if raw.get().starts_with('{') {
                Ok(own(raw))
            } else {
                Err(Wrong::here("must be an object"))
            }
        })
    }

    /// Whether a field says yes.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Wrong> {
        self.read(name, |raw| match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Wrong::here("must be true or false")),
        })
    }

    /// A number that counts something.
    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, Wrong> {
        self.read(name, |raw| count(number(raw)))
    }

    /// What `read` makes of the elements of a list in a field; nothing if it is not there.
    pub(super) fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&'a RawValue) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let list = self.read(name, |raw| {
            let elements = json::elements(raw).ok_or_else(|| Wrong::here("must be a list"))?;
            let elements = elements.into_iter().enumerate();
            let read = |(index, raw)| read(raw).map_err(|wrong| wrong.within_list(index));
            elements.map(read).collect()
        });
        Ok(list?.unwrap_or_default())
    }

    /// The texts of a list in a field.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Wrong> {
        self.list(name, text)
    }

    /// The fields that are not among `known`.
    pub(super) fn extra(&self, version: Version, known: &[&str]) -> Extra {
        let unknown = |name: &str| !known.iter().any(|known| is_name(name, known));
        let members = self.0.iter().filter(|member| unknown(&member.name));
        let fields: Vec<_> = members
            .map(|member| (member.name.to_string(), own(member.value)))
            .collect();
        Extra {
            version: (!fields.is_empty()).then_some(version),
            fields,
        }
    }
}

/// Whether a name is this one, in either spelling.
pub(in crate::wire) fn is_name(given: &str, name: &str) -> bool {
    if given == name {
        return true;
    }
    let mut given = given.bytes();
    let mut is_next = |byte| given.next() == Some(byte);
    let has_all = name.bytes().all(|byte| {
        if byte.is_ascii_uppercase() {
            is_next(b'_') && is_next(byte.to_ascii_lowercase())
        } else {
            is_next(byte)
        }
    });
    has_all && given.next().is_none()
}

/// A copy on one line, since it may go into a stream of lines.
pub(super) fn own(raw: &RawValue) -> Raw {
    if !raw.get().contains(['\n', '\r']) {
        return raw.to_owned();
    }
    // Without its whitespace it is still the same JSON.
    RawValue::from_string(json::compact(raw)).unwrap_or_else(|_| raw.to_owned())
}

/// The text of a string.
pub(super) fn text(raw: &RawValue) -> Result<String, Wrong> {
    let text = json::str_of(raw).map(Cow::into_owned);
    text.ok_or_else(|| Wrong::here("must be a string"))
}

/// An integer, or one in a string; `None` if it is neither.
pub(super) fn number(raw: &RawValue) -> Option<i64> {
    let raw = raw.get();
    let digits = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    integer(digits.unwrap_or(raw))
}

/// The integer that a text says, be it as `1.0` or `1e2`.
pub(super) fn integer(text: &str) -> Option<i64> {
    /// Up to here, a float is the integer that it looks like.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let is_integer = number.fract() == 0.0 && number.abs() <= EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is within the range")]
    is_integer.then_some(number as i64)
}

/// A number that is not negative.
pub(super) fn count(number: Option<i64>) -> Result<usize, Wrong> {
    let number = number.ok_or_else(|| Wrong::here("must be an integer"))?;
    usize::try_from(number).map_err(|_| Wrong::here("must not be negative"))
}
