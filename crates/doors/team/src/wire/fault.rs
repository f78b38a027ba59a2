//! Refusal of a message or an envelope: a code for programs, and a sentence with the name of the field.

use std::fmt;

use jackfield_wire::read::FieldError;

/// Codes of refusals in the `ERROR` message.
pub mod code {
    /// Invalid JSON, or a missing, duplicate or wrong field.
    pub const INVALID_MESSAGE: &str = "INVALID_MESSAGE";
    /// Message type that viewers do not send.
    pub const UNKNOWN_MESSAGE_TYPE: &str = "UNKNOWN_MESSAGE_TYPE";
    /// Decision without an invocation id or a token.
    pub const APPROVAL_TOKEN_REQUIRED: &str = "APPROVAL_TOKEN_REQUIRED";
    /// Token of a decision that this hub did not write.
    pub const INVALID_APPROVAL_TOKEN: &str = "INVALID_APPROVAL_TOKEN";
    /// Ticket that is not valid for this page.
    pub const UNAUTHORIZED: &str = "UNAUTHORIZED";
}

/// Refusal of a message or an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFault {
    /// Code from [`code`].
    pub code: &'static str,
    /// Wrong field, and the reason.
    pub misread: FieldError,
}

impl MessageFault {
    /// Prefixes the field of the error with `place`, the field of the enclosing object.
    pub(super) fn within(self, place: &str) -> Self {
        MessageFault {
            misread: self.misread.within(place),
            ..self
        }
    }
}

/// Returns a constructor of faults with the given code.
pub(super) fn coded(code: &'static str) -> impl Fn(FieldError) -> MessageFault {
    move |misread| MessageFault { code, misread }
}

impl From<FieldError> for MessageFault {
    fn from(misread: FieldError) -> Self {
        coded(code::INVALID_MESSAGE)(misread)
    }
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.misread.field() {
            Some(_) => self.misread.fmt(f),
            None => write!(f, "the message {}", self.misread.problem),
        }
    }
}

impl std::error::Error for MessageFault {}
