//! Signals between an agent and its peer about one transfer.

use jackfield_files::{
    ChannelError,
    rtc::{Kind, Signalling},
};
use jackfield_sdk::{Signal, Signaller};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::debug;

/// Capacity for unread candidates of the peer.
pub(super) const WAYS: usize = 64;

/// Signalling with the peer of a transfer.
#[derive(Debug)]
pub(super) struct Line {
    transfer: String,
    to: String,
    signaller: Signaller,
    ways: mpsc::Receiver<(Kind, String)>,
}

impl Line {
    /// Creates the signalling with the sender of `signal`.
    pub(super) fn new(
        signal: &Signal,
        signaller: Signaller,
        ways: mpsc::Receiver<(Kind, String)>,
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
    pub(super) fn say(&self, kind: &str, payload: &Value) {
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
        self.say("failed", &json!({ "reason": reason }));
    }
}

impl Signalling for Line {
    async fn send(&mut self, kind: Kind, payload: String) -> Result<(), ChannelError> {
        let kind = kind.as_str();
        let said = self
            .signaller
            .send(&self.transfer, &self.to, kind, Some(&payload));
        said.map_err(|error| ChannelError::NoWay(error.to_string()))
    }

    async fn next(&mut self) -> Option<(Kind, String)> {
        self.ways.recv().await
    }
}
