//! What can go wrong between the hub and a remote.

use jackfield_kit::outbound::{BodyError, OutboundError};

use crate::wire::official::error::Fault;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::dial) enum Trouble {
    /// There was no connection: nobody heard anything.
    #[error("{0}")]
    Unheard(String),
    /// Our own rules allow no connection, or nothing came over it in time; or whoever stands in front of the server says
    /// that it is not there.
    #[error("{0}")]
    Unreachable(String),
    /// It broke off after it had begun.
    #[error("{0}")]
    Cut(String),
    /// The server said no, in the words of the protocol.
    #[error("the server refused: {}", .0.message)]
    Refused(Fault),
    /// The server ended a stream that had begun with an error.
    #[error("the server gave up: {}", .0.message)]
    GaveUp(Fault),
    /// The server wants credentials, or others; or there are none to show.
    #[error("{0}")]
    Unauthorized(String),
    /// What came is not this protocol.
    #[error("{0}")]
    Garbled(String),
}

impl From<OutboundError> for Trouble {
    fn from(error: OutboundError) -> Self {
        let text = error.to_string();
        match error {
            OutboundError::Unreachable {
                is_unsaid: true, ..
            } => Self::Unheard(text),
            _ => Self::Unreachable(text),
        }
    }
}

impl From<BodyError> for Trouble {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Cut(_) => Self::Cut(error.to_string()),
            BodyError::TooLarge { .. } => Self::Garbled(error.to_string()),
        }
    }
}
