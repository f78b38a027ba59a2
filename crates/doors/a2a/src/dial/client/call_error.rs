//! Errors between the hub and a remote.

use jackfield_kit::outbound::{BodyError, OutboundError};

use crate::wire::official::error::A2aError;

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::dial) enum RemoteCallError {
    /// Connecting failed: the server received no byte.
    #[error("{0}")]
    Unheard(String),
    /// A rule of the hub forbids the connection, no answer came in time, or a proxy reports that the server
    /// is down.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke during the answer.
    #[error("{0}")]
    Cut(String),
    /// The server refused, with an error of the protocol.
    #[error("the server refused: {}", .0.message)]
    Refused(A2aError),
    /// The server ended a started stream with an error.
    #[error("the server gave up: {}", .0.message)]
    GaveUp(A2aError),
    /// The server demands credentials or different ones, or a secret is missing.
    #[error("{0}")]
    Unauthorized(String),
    /// The answer violates the protocol.
    #[error("{0}")]
    Garbled(String),
}

impl From<OutboundError> for RemoteCallError {
    fn from(error: OutboundError) -> Self {
        let text = error.to_string();
        match error {
            OutboundError::Unreachable {
                is_unsent: true, ..
            } => Self::Unheard(text),
            _ => Self::Unreachable(text),
        }
    }
}

impl From<BodyError> for RemoteCallError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Cut(_) => Self::Cut(error.to_string()),
            BodyError::TooLarge { .. } => Self::Garbled(error.to_string()),
        }
    }
}
