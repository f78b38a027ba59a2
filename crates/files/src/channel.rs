//! What an archive travels over: messages in order, each text or binary. A data channel is one ([`crate::rtc`]); tests have
//! one in memory.

use std::future::Future;

use bytes::Bytes;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Text, such as the header.
    Text(String),
    /// A piece of the archive.
    Binary(Bytes),
}

/// Why a channel carries nothing more.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other side is gone, or the way to it.
    #[error("the channel was cut: {0}")]
    Cut(String),
    /// No way to the other side was found.
    #[error("no direct way to the other side: {0}")]
    NoWay(String),
    /// What the other side signalled cannot be used.
    #[error("the other side signalled something unusable: {0}")]
    Signal(String),
}

/// Messages in order, both ways.
pub trait Channel: Send {
    /// Sends a message, as soon as the channel has room for it.
    fn send(&mut self, frame: Frame) -> impl Future<Output = Result<(), ChannelError>> + Send;

    /// The next message; nothing once the other side has closed.
    fn recv(&mut self) -> impl Future<Output = Result<Option<Frame>, ChannelError>> + Send;

    /// Waits until all that was sent has arrived, and closes.
    fn finish(&mut self) -> impl Future<Output = Result<(), ChannelError>> + Send;
}
