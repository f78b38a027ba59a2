//! Signalling between peers that have no channel yet.

use std::future::Future;
use std::str::FromStr;

use crate::{endpoint::ChannelError, signal};

/// Kind of a signal of [`Signalling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// SDP of the calling peer.
    Offer,
    /// SDP of the answering peer.
    Answer,
    /// An address of a peer: `{"candidate","mid"}` as JSON text.
    Candidate,
}

impl SignalKind {
    /// Returns the name on the wire (`signal_type`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offer => signal::OFFER,
            Self::Answer => signal::ANSWER,
            Self::Candidate => signal::CANDIDATE,
        }
    }
}

/// Error for a signal that is unrelated to data channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signal is not about a data channel")]
pub struct OtherSignal;

impl FromStr for SignalKind {
    type Err = OtherSignal;

    fn from_str(name: &str) -> Result<Self, OtherSignal> {
        [Self::Offer, Self::Answer, Self::Candidate]
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .ok_or(OtherSignal)
    }
}

/// Transport of signals, used until the [`RtcChannel`](super::RtcChannel) is open.
pub trait Signalling: Send {
    /// Sends a signal to the peer.
    fn send(
        &mut self,
        kind: SignalKind,
        payload: String,
    ) -> impl Future<Output = Result<(), ChannelError>> + Send;

    /// Waits for the peer's next signal; `None` if no more will come. Cancel-safe: dropping the future loses
    /// no signal.
    fn next(&mut self) -> impl Future<Output = Option<(SignalKind, String)>> + Send;
}
