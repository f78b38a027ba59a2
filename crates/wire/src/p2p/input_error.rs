//! [`PeerInputError`]: error for a refused request or body, with the code for the peer and a sentence that names the field.

use std::borrow::Cow;
use std::fmt;

use super::PeerErrorBody;
use crate::echo;
use crate::read::FieldError;

/// Codes of refusals, the same as in HTTP.
pub mod code {
    /// The body is not JSON, or a field is missing, given twice or wrong.
    pub const INVALID: u16 = 400;
    /// The path does not exist.
    pub const NOT_FOUND: u16 = 404;
    /// The method is not allowed.
    pub const METHOD: u16 = 405;
    /// A value is larger than allowed.
    pub const TOO_LARGE: u16 = 413;
}

/// Error for a refused request or body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInputError {
    /// A code of the module [`code`].
    pub code: u16,
    /// Path of the wrong field; `None` if the body itself is wrong.
    pub field: Option<Box<str>>,
    /// Description of the problem, as the end of a sentence about the field or the body.
    pub problem: Cow<'static, str>,
}

impl PeerInputError {
    /// Creates an error about the body itself.
    pub fn in_body(problem: impl Into<Cow<'static, str>>) -> Self {
        PeerInputError {
            code: code::INVALID,
            field: None,
            problem: problem.into(),
        }
    }

    /// Creates an error about a field of the body.
    pub fn in_field(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        PeerInputError {
            field: Some(echo(field).into()),
            ..Self::in_body(problem)
        }
    }

    /// Creates an error about a value with more than `max` of `unit`.
    pub fn too_large(max: usize, unit: &str) -> Self {
        Self::in_body(format!("has more than {max} {unit}")).with_code(code::TOO_LARGE)
    }

    /// Returns the same error with another code.
    pub fn with_code(self, code: u16) -> Self {
        PeerInputError { code, ..self }
    }

    /// Returns the same error with the field's path extended by `place`, the place of the value in the
    /// surrounding object or list.
    pub fn within(self, place: &str) -> Self {
        let place = echo(place);
        let field = match self.field {
            None => place.into(),
            Some(field) if field.starts_with('[') => format!("{place}{field}").into(),
            Some(field) => format!("{place}.{field}").into(),
        };
        PeerInputError {
            field: Some(field),
            ..self
        }
    }

    /// Returns the [`PeerErrorBody`] for the peer.
    pub fn to_body(&self) -> PeerErrorBody {
        PeerErrorBody::new(self.to_string(), self.code)
    }
}

impl From<FieldError> for PeerInputError {
    fn from(misread: FieldError) -> Self {
        PeerInputError {
            field: misread.field().map(Into::into),
            ..Self::in_body(misread.problem)
        }
    }
}

impl fmt::Display for PeerInputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot inject lines into a log.
        match &self.field {
            Some(field) => write!(f, "field \"{}\" ", field.escape_debug())?,
            None => f.write_str("the body ")?,
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for PeerInputError {}
