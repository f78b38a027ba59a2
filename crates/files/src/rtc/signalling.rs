//! How two parties that have no channel yet tell each other where they are.

use std::future::Future;
use std::str::FromStr;

use crate::ChannelError;

/// What a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The caller's description: SDP.
    Offer,
    /// The description of the one that was called: SDP.
    Answer,
    /// One more address of a party: `{"candidate","mid"}` as JSON text.
    Candidate,
}

impl Kind {
    /// Its name on the wire (`signal_type`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offer => "offer",
            Self::Answer => "answer",
            Self::Candidate => "candidate",
        }
    }
}

/// Other signals have nothing to do with a data channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signal is not about a data channel")]
pub struct OtherSignal;

impl FromStr for Kind {
    type Err = OtherSignal;

    fn from_str(name: &str) -> Result<Self, OtherSignal> {
        [Self::Offer, Self::Answer, Self::Candidate]
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .ok_or(OtherSignal)
    }
}

/// The way that signals go. It is used until the channel is open, and not afterwards.
pub trait Signalling: Send {
    /// Sends a signal to the other side.
    fn send(
        &mut self,
        kind: Kind,
        payload: String,
    ) -> impl Future<Output = Result<(), ChannelError>> + Send;

    /// The next signal of the other side; nothing if there will be none. The future may be dropped at any point without
    /// losing a signal.
    fn next(&mut self) -> impl Future<Output = Option<(Kind, String)>> + Send;
}
