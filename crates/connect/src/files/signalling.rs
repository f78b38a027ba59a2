//! Signals between an agent and its peer about one transfer.

use jackfield_sdk::{CallerSignal, Signaller};
use jackfield_transfer::{
    ChannelError,
    rtc::{SignalKind, Signalling},
};
use serde_json::{Value, json};
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

    /// Sends a signal that only Jackfield's own callers understand; others ignore it. A lost signal is not
    /// repeated: the peer asks again.
    pub(super) fn send_signal(&self, kind: &str, payload: &Value) {
        let payload = payload.to_string();
        let said = self
            .signaller
            .send(&self.transfer, &self.to, kind, Some(&payload));
        if let Err(error) = said {
            debug!(%error, kind, "a signal did not go out");
        }
    }

    /// Tells the peer that the transfer cannot continue, and why.
    pub(super) fn failed(&self, reason: &str) {
        self.send_signal("failed", &json!({ "reason": reason }));
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
