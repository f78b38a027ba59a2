//! Transport of an archive: ordered messages, each text or binary. Implemented by the data channel
//! ([`crate::endpoint::rtc`]) and, in tests, in memory.

use std::future::Future;

use bytes::Bytes;

/// A message of a [`Channel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelFrame {
    /// Text, such as the header.
    Text(String),
    /// A piece of the archive.
    Binary(Bytes),
}

/// Why a channel failed.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The connection to the peer is lost.
    #[error("the channel was cut: {0}")]
    Cut(String),
    /// No route to the peer was found.
    #[error("no direct way to the other side: {0}")]
    NoRoute(String),
    /// The peer sent an unusable signal.
    #[error("the other side signalled something unusable: {0}")]
    Signal(String),
}

/// Ordered messages in both directions.
pub trait Channel: Send {
    /// Sends a message once the channel has room.
    fn send(
        &mut self,
        frame: ChannelFrame,
    ) -> impl Future<Output = Result<(), ChannelError>> + Send;

    /// Waits for the next message; `None` once the peer has closed the channel.
    fn recv(&mut self) -> impl Future<Output = Result<Option<ChannelFrame>, ChannelError>> + Send;

    /// Waits until all sent messages have arrived, then closes the channel.
    fn finish(&mut self) -> impl Future<Output = Result<(), ChannelError>> + Send;
}
