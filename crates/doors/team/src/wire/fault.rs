//! Why a message or an envelope was refused: a code for programs, and a sentence that names the field.

use std::fmt;

use jackfield_wire::read::Misread;

/// The codes of refusals, as the `ERROR` message carries them.
pub mod code {
    /// The text is no JSON, or a field is missing, given twice or wrong.
    pub const INVALID_MESSAGE: &str = "INVALID_MESSAGE";
    /// The message is of a type that viewers do not send.
    pub const UNKNOWN_MESSAGE_TYPE: &str = "UNKNOWN_MESSAGE_TYPE";
    /// A decision names neither the invocation nor a token.
    pub const APPROVAL_TOKEN_REQUIRED: &str = "APPROVAL_TOKEN_REQUIRED";
    /// The token of a decision was not written by this hub.
    pub const INVALID_APPROVAL_TOKEN: &str = "INVALID_APPROVAL_TOKEN";
}

/// Why a message or an envelope was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// One of [`code`].
    pub code: &'static str,
    /// Which field is wrong, and why.
    pub misread: Misread,
}

impl Fault {
    /// The same mistake, seen from the object that holds the value in the field `place`.
    pub(super) fn within(self, place: &str) -> Self {
        Fault {
            misread: self.misread.within(place),
            ..self
        }
    }
}

/// A mistake with a code of its own.
pub(super) fn coded(code: &'static str) -> impl Fn(Misread) -> Fault {
    move |misread| Fault { code, misread }
}

impl From<Misread> for Fault {
    fn from(misread: Misread) -> Self {
        coded(code::INVALID_MESSAGE)(misread)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.misread.field() {
            Some(_) => self.misread.fmt(f),
            None => write!(f, "the message {}", self.misread.problem),
        }
    }
}

impl std::error::Error for Fault {}
