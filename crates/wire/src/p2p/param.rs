//! The parameters of a request: short values that are put into its path.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::fields::Fields;
use super::{Fault, MAX_PARAM};
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
}

impl Param {
    /// Reads a value: a string, a number or a boolean, of at most [`MAX_PARAM`] bytes.
    pub fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let param = match (raw.get(), json::str_of(raw)) {
            (_, Some(text)) => Param::Text(text.into_owned()),
            ("true", None) => Param::Flag(true),
            ("false", None) => Param::Flag(false),
            (number, None) if !json::is_container(number) && !json::is_null(raw) => {
                Param::Number(number.into())
            }
            _ => return Err(Fault::here("must be a string, a number or a boolean")),
        };
        if param.as_str().len() > MAX_PARAM {
            return Err(Fault::too_large(MAX_PARAM, "bytes"));
        }
        Ok(param)
    }

    /// The value as it stands in a path, before it is encoded. Booleans are written as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Param::Text(text) => text,
            Param::Number(number) => number,
            Param::Flag(true) => "true",
            Param::Flag(false) => "false",
        }
    }

    fn push_json(&self, out: &mut String) {
        match self {
            Param::Text(text) => push_string(out, text),
            Param::Number(_) | Param::Flag(_) => out.push_str(self.as_str()),
        }
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Param::Text(text.to_owned())
    }
}

/// Reads the parameters of a request.
pub(super) fn read(raw: &RawValue) -> Result<Params, Fault> {
    let fields = Fields::of(raw)?;
    let mut params = Params::new();
    for (name, value) in fields.iter() {
        let param = Param::from_value(value).map_err(|fault| fault.within(name))?;
        if params.insert(name.to_owned(), param).is_some() {
            return Err(Fault::at(name, "is given twice"));
        }
    }
    Ok(params)
}

/// Writes the parameters as an object.
pub(super) fn to_json(params: &Params) -> Cow<'static, RawValue> {
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
