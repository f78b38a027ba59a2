//! The parameters of a request: values that are put into its path, and others that its path has no place for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Fault;
use super::fields::Fields;
use crate::json::{self, push_string};

/// Parameters by name.
pub type Params = BTreeMap<String, Param>;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A string.
    Text(String),
    /// A number as it was written.
    Number(Box<str>),
    /// True or false.
    Flag(bool),
    /// An object or an array as it was written; no path has a place for it.
    Structured(Box<str>),
}

impl Param {
    /// Reads a value; null is none.
    pub fn from_value(raw: &RawValue) -> Option<Self> {
        match (raw.get(), json::str_of(raw)) {
            (_, Some(text)) => Some(Param::Text(text.into_owned())),
            ("true", None) => Some(Param::Flag(true)),
            ("false", None) => Some(Param::Flag(false)),
            _ if json::is_null(raw) => None,
            (value, None) if json::is_container(value) => Some(Param::Structured(value.into())),
            (number, None) => Some(Param::Number(number.into())),
        }
    }

    /// The value as it stands in a path, before it is encoded. Booleans are written as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Param::Text(text) => text,
            Param::Number(json) | Param::Structured(json) => json,
            Param::Flag(true) => "true",
            Param::Flag(false) => "false",
        }
    }

    fn push_json(&self, out: &mut String) {
        match self {
            Param::Text(text) => push_string(out, text),
            Param::Number(_) | Param::Flag(_) | Param::Structured(_) => out.push_str(self.as_str()),
        }
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Param::Text(text.to_owned())
    }
}

/// Reads the parameters of a request. Whether a value can be put into the path is seen when it is.
pub fn read(raw: &RawValue) -> Result<Params, Fault> {
    let fields = Fields::of(raw)?;
    let mut params = BTreeMap::new();
    for (name, value) in fields.iter() {
        let param = Param::from_value(value);
        if params.insert(name.to_owned(), param).is_some() {
            return Err(Fault::at(name, "is given twice"));
        }
    }
    let given = params.into_iter();
    Ok(given
        .filter_map(|(name, param)| Some((name, param?)))
        .collect())
}

/// Writes the parameters as an object.
pub fn to_json(params: &Params) -> Cow<'static, RawValue> {
    let mut out = String::from("{");
    for (index, (name, param)) in params.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        param.push_json(&mut out);
    }
    out.push('}');
    RawValue::from_string(out).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned)
}
