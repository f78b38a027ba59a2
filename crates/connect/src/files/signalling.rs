//! Signals between an agent and its peer about one transfer.

use jackfield_sdk::{CallerSignal, Signaller};
use jackfield_transfer::{
    ChannelError,
    rtc::{SignalKind, Signalling},
    signal::StatusSignal,
};
use tokio::sync::mpsc;
use tracing::debug;

/// Capacity for unread candidates of the peer.
pub(super) const MAX_CANDIDATES: usize = 64;

/// Signalling with the peer of a transfer.
#[derive(Debug)]
pub(super) struct TransferSignalling {
    transfer: String,
    to: String,
    signaller: Signaller,
    ways: mpsc::Receiver<(SignalKind, String)>,
}

impl TransferSignalling {
    /// Creates the signalling with the sender of `signal`.
    pub(super) fn new(
        signal: &CallerSignal,
        signaller: Signaller,
        ways: mpsc::Receiver<(SignalKind, String)>,
    ) -> Self {
        Self {
            transfer: signal.transfer_id.clone(),
            to: signal.from_agent_id.clone(),
            signaller,
            ways,
        }
    }

    pub(super) fn transfer(&self) -> &str {
        &self.transfer
    }

    /// Tells the peer the state of the transfer. A lost signal is not repeated: the peer asks again.
    pub(super) fn report(&self, status: &StatusSignal) {
        let (kind, payload) = (status.signal_type(), status.payload());
        let said = self
            .signaller
            .send(&self.transfer, &self.to, kind, Some(&payload));
        if let Err(error) = said {
            debug!(%error, kind, "a signal did not go out");
        }
    }

    /// Tells the peer that the transfer cannot continue, and why.
    pub(super) fn failed(&self, reason: &str) {
        self.report(&StatusSignal::Failed(reason.to_owned()));
    }
}

impl Signalling for TransferSignalling {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        let kind = kind.as_str();
        let said = self
            .signaller
            .send(&self.transfer, &self.to, kind, Some(&payload));
        said.map_err(|error| ChannelError::NoRoute(error.to_string()))
    }

    async fn next(&mut self) -> Option<(SignalKind, String)> {
        self.ways.recv().await
    }
}
