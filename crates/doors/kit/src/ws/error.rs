//! Why a WebSocket stopped working, in the few ways a door has to tell apart, and the close code that
//! belongs to each of them.

use std::io;

use tungstenite::error::{CapacityError, Error as Tungstenite, ProtocolError};

/// Why a WebSocket cannot be read or written any further.
#[derive(Debug, thiserror::Error)]
pub enum WsError {
    /// A message of the peer is larger than [`Ws::set_max_message`](super::Ws::set_max_message) allows.
    #[error("message of {size} bytes is larger than the {limit} allowed")]
    TooLarge {
        /// How large the message is, as far as it is known.
        size: usize,
        /// What was allowed.
        limit: usize,
    },
    /// The peer, and who else it is counted with, has more unfinished messages under way than its share.
    #[error("too much that you send at once is not complete")]
    NoRoom,
    /// A text message or a close reason of the peer is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// The peer broke the WebSocket protocol.
    #[error("websocket protocol error: {0}")]
    Protocol(#[source] ProtocolError),
    /// The peer went away without the closing handshake.
    #[error("connection ended without a closing handshake")]
    Disconnected,
    /// Something was queued after the closing handshake had begun.
    #[error("websocket is closed")]
    Closed,
    /// The socket failed.
    #[error("socket failed")]
    Io(#[from] io::Error),
}

impl WsError {
    /// The code to close with, or nothing where no peer is left to be told.
    pub fn close_code(&self) -> Option<u16> {
        match self {
            Self::TooLarge { .. } => Some(1009),
            Self::NoRoom => Some(1013),
            Self::NotUtf8 => Some(1007),
            Self::Protocol(_) => Some(1002),
            Self::Disconnected | Self::Closed | Self::Io(_) => None,
        }
    }

    /// What an error of the codec means; `WouldBlock` and the normal end are handled before.
    pub(super) fn from_codec(error: Tungstenite) -> Self {
        match error {
            Tungstenite::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
                Self::TooLarge {
                    size,
                    limit: max_size,
                }
            }
            Tungstenite::Utf8(_) => Self::NotUtf8,
            Tungstenite::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                Self::Disconnected
            }
            Tungstenite::Protocol(error) => Self::Protocol(error),
            Tungstenite::Io(error) => Self::Io(error),
            Tungstenite::ConnectionClosed | Tungstenite::AlreadyClosed => Self::Closed,
            // The rest belongs to handshakes, TLS and URLs, none of which the codec does.
            other => Self::Io(io::Error::other(other)),
        }
    }
}
