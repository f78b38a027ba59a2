//! Types at the interface of a [`Ws`](super::Ws): settings, incoming messages, and the events for the loop of
//! its owner.

use bytes::Bytes;
use tungstenite::Utf8Bytes;

use super::WsError;

/// Settings of a [`Ws`](super::Ws).
#[derive(Debug, Clone, Copy)]
pub struct WsConfig {
    /// Maximum size of an incoming message in bytes; [`Ws::set_max_message`](super::Ws::set_max_message)
    /// changes it later.
    pub max_message: usize,
    /// Size of the codec's buffer for messages that are not read the short way; the buffer exists only while
    /// such a message is half read.
    pub read_buffer: usize,
}

impl Default for WsConfig {
    /// Returns the settings for an unregistered peer: messages of up to 64 KiB.
    fn default() -> Self {
        Self {
            max_message: 64 * 1024,
            read_buffer: 4096,
        }
    }
}

/// A message of the peer.
///
/// A short message shares its read buffer (up to 64 KiB) with neighbouring messages: copy data that is kept
/// for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WsMessage {
    /// A complete text message.
    Text(Utf8Bytes),
    /// A complete binary message.
    Binary(Bytes),
    /// A ping; the pong is already queued.
    Ping(Bytes),
    /// A pong.
    Pong(Bytes),
    /// A close frame of the peer. The next [`Ws::next_event`](super::Ws::next_event) or [`Ws::finish`](super::Ws::finish)
    /// sends the answer.
    Close {
        /// Code of the peer; 1005 when the frame has none.
        code: u16,
        /// Reason of the peer, often empty.
        reason: Utf8Bytes,
    },
}

/// The result of [`Ws::next_event`](super::Ws::next_event).
#[derive(Debug)]
pub enum WsEvent {
    /// The peer sent a message. [`Ws::try_next`](super::Ws::try_next) returns further messages that have
    /// arrived.
    Frame(WsMessage),
    /// The write queue is empty: time to queue more.
    Flushed,
    /// The closing handshake is complete, or a failure was reported before: drop the connection.
    Closed,
    /// The peer or the socket failed. Close with [`WsError::close_code`] and
    /// [`Ws::finish`](super::Ws::finish).
    Failed(WsError),
}
