//! Why something was refused: the code that the peer is told, and a sentence that names the field.

use std::borrow::Cow;
use std::fmt;

use super::ErrorBody;
use crate::echo;
use crate::read::Misread;

/// The codes of refusals, which are those of HTTP.
pub mod code {
    /// The body is no JSON, or a field is missing, given twice or wrong.
    pub const INVALID: u16 = 400;
    /// There is nothing at this path.
    pub const NOT_FOUND: u16 = 404;
    /// The method is not allowed.
    pub const METHOD: u16 = 405;
    /// Something is larger than allowed.
    pub const TOO_LARGE: u16 = 413;
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// One of [`code`].
    pub code: u16,
    /// The path of the field that is wrong, if it is one.
    pub field: Option<Box<str>>,
    /// What is wrong, as the end of a sentence about the field or the body.
    pub problem: Cow<'static, str>,
}

impl Fault {
    /// The body itself is wrong.
    pub fn here(problem: impl Into<Cow<'static, str>>) -> Self {
        Fault {
            code: code::INVALID,
            field: None,
            problem: problem.into(),
        }
    }

    /// A field of it is.
    pub fn at(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Fault {
            field: Some(echo(field).into()),
            ..Self::here(problem)
        }
    }

    /// It has more of something than allowed.
    pub fn too_large(max: usize, unit: &str) -> Self {
        Self::here(format!("has more than {max} {unit}")).coded(code::TOO_LARGE)
    }

    /// The same under another code.
    pub fn coded(self, code: u16) -> Self {
        Fault { code, ..self }
    }

    /// The same, seen from the object or the list that holds this one at `place`.
    pub fn within(self, place: &str) -> Self {
        let place = echo(place);
        let field = match self.field {
            None => place.into(),
            Some(field) if field.starts_with('[') => format!("{place}{field}").into(),
            Some(field) => format!("{place}.{field}").into(),
        };
        Fault {
            field: Some(field),
            ..self
        }
    }

    /// What the peer is told.
    pub fn to_body(&self) -> ErrorBody {
        ErrorBody::new(self.to_string(), self.code)
    }
}

impl From<Misread> for Fault {
    fn from(misread: Misread) -> Self {
        Fault {
            field: misread.field().map(Into::into),
            ..Self::here(misread.problem)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot write lines of its own into a log.
        match &self.field {
            Some(field) => write!(f, "field \"{}\" ", field.escape_debug())?,
            None => f.write_str("the body ")?,
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Fault {}
