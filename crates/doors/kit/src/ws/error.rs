//! Errors of a WebSocket, as far as a door has to distinguish them, and the close code of each.

use std::io;

use tungstenite::error::{CapacityError, Error as Tungstenite, ProtocolError};

/// The reason why a [`Ws`](super::Ws) can no longer be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WsError {
    /// A message of the peer is larger than [`Ws::set_max_message`](super::Ws::set_max_message) allows.
    #[error("message of {size} bytes is larger than the {limit} allowed")]
    TooLarge {
        /// Size of the message, as far as known.
        size: usize,
        /// Maximum size of a message.
        limit: usize,
    },
    /// The holder of the connection, with all its connections, has more bytes of incomplete messages than its
    /// share.
    #[error("too much that you send at once is not complete")]
    NoRoom,
    /// A text message or a close reason of the peer is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// The peer broke the WebSocket protocol.
    #[error("websocket protocol error: {0}")]
    Protocol(#[source] ProtocolError),
    /// The peer disconnected without the closing handshake.
    #[error("connection ended without a closing handshake")]
    Disconnected,
    /// A frame was queued after the start of the closing handshake.
    #[error("websocket is closed")]
    Closed,
    /// The socket failed.
    #[error("socket failed")]
    Io(#[from] io::Error),
}

impl WsError {
    /// Returns the close code for the error, or `None` if the peer is gone.
    pub fn close_code(&self) -> Option<u16> {
        match self {
            Self::TooLarge { .. } => Some(1009),
            Self::NoRoom => Some(1013),
            Self::NotUtf8 => Some(1007),
            Self::Protocol(_) => Some(1002),
            Self::Disconnected | Self::Closed | Self::Io(_) => None,
        }
    }

    /// Converts an error of the codec. The caller handles `WouldBlock` and the normal end before.
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
            // The remaining errors concern handshakes, TLS and URLs, none of which the codec does.
            other => Self::Io(io::Error::other(other)),
        }
    }
}
