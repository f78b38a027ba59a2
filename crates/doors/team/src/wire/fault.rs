//! Why a message or an envelope was refused: a code for programs, and a sentence that names the field.

use std::borrow::Cow;
use std::fmt;

use jackfield_wire::echo;

/// The codes of refusals, as the `ERROR` message carries them.
pub mod code {
    /// The text is no JSON, or a field is missing, given twice or wrong.
    pub const INVALID_MESSAGE: &str = "INVALID_MESSAGE";
    /// The message is of a type that viewers do not send.
    pub const UNKNOWN_MESSAGE_TYPE: &str = "UNKNOWN_MESSAGE_TYPE";
    /// A decision names neither the invocation nor a token.
    pub const APPROVAL_TOKEN_REQUIRED: &str = "APPROVAL_TOKEN_REQUIRED";
    /// The token of a decision cannot be one of ours.
    pub const INVALID_APPROVAL_TOKEN: &str = "INVALID_APPROVAL_TOKEN";
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// One of [`code`].
    pub code: &'static str,
    /// The path of the field that is wrong, if it is one.
    pub field: Option<Box<str>>,
    /// What is wrong, as the end of a sentence about the field or the message.
    pub problem: Cow<'static, str>,
}

impl Fault {
    /// The message itself is wrong.
    pub(super) fn here(problem: impl Into<Cow<'static, str>>) -> Self {
        Fault {
            code: code::INVALID_MESSAGE,
            field: None,
            problem: problem.into(),
        }
    }

    /// A field of it is.
    pub(super) fn at(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Fault {
            field: Some(echo(field).into()),
            ..Self::here(problem)
        }
    }

    /// The same under another code.
    pub(super) fn coded(self, code: &'static str) -> Self {
        Fault { code, ..self }
    }

    /// The same, seen from the object or the list that holds this one at `place`.
    pub(super) fn within(self, place: &str) -> Self {
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
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped, so that a peer cannot write lines of its own into a log.
        match &self.field {
            Some(field) => write!(f, "field \"{}\" ", field.escape_debug())?,
            None => f.write_str("the message ")?,
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Fault {}
