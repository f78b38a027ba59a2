//! What goes into a WebSocket and what comes out of it: its settings, what a peer sends, and what a turn
//! of the owner's loop brings.

use bytes::Bytes;
use tungstenite::Utf8Bytes;

use super::WsError;

/// The settings of one WebSocket.
#[derive(Debug, Clone, Copy)]
pub struct WsConfig {
    /// The largest message that is accepted, in bytes; it can be changed later.
    pub max_message: usize,
    /// The buffer of a message that did not come in one piece; it exists only while one is half read.
    pub read_buffer: usize,
}

impl Default for WsConfig {
    /// What an unknown peer gets: 64 KiB until it has registered.
    fn default() -> Self {
        Self {
            max_message: 64 * 1024,
            read_buffer: 4096,
        }
    }
}

/// What a peer sends.
///
/// A short message shares the buffer it was read into (up to 16 KiB) with its neighbours: copy what is
/// to be kept for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A whole text message.
    Text(Utf8Bytes),
    /// A whole binary message.
    Binary(Bytes),
    /// A ping; the pong is already queued.
    Ping(Bytes),
    /// A pong.
    Pong(Bytes),
    /// The peer closes; the answer is sent by the next [`Ws::turn`](super::Ws::turn) or by [`Ws::finish`](super::Ws::finish).
    Close {
        /// The peer's code; 1005 when it gave none.
        code: u16,
        /// The peer's reason, often empty.
        reason: Utf8Bytes,
    },
}

/// What one call of [`Ws::turn`](super::Ws::turn) brought.
#[derive(Debug)]
pub enum Turn {
    /// The peer sent something. Take what else is there with [`Ws::try_next`](super::Ws::try_next).
    Frame(Incoming),
    /// Everything queued has left: time to queue more.
    Flushed,
    /// The closing handshake is done, or a failure was told before: drop the connection.
    Closed,
    /// The peer or the socket failed. Close with [`WsError::close_code`] and [`Ws::finish`](super::Ws::finish).
    Failed(WsError),
}
