//! What an agent and the other party of a transfer say to each other about it.

use jackfield_files::{
    ChannelError,
    rtc::{Kind, Signalling},
};
use jackfield_sdk::{Signal, Signaller};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::debug;

/// How many addresses of the other side may wait.
pub(super) const WAYS: usize = 64;

/// The way to the other party of a transfer.
#[derive(Debug)]
pub(super) struct Line {
    transfer: String,
    to: String,
    signaller: Signaller,
    ways: mpsc::Receiver<(Kind, String)>,
}

impl Line {
    /// To whoever said something about a transfer.
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

    /// Says what only our own callers understand; others pass over it. Whoever is away asks again.
    pub(super) fn say(&self, kind: &str, payload: &Value) {
        let payload = payload.to_string();
        let said = self
            .signaller
            .send(&self.transfer, &self.to, kind, Some(&payload));
        if let Err(error) = said {
            debug!(%error, kind, "a signal did not go out");
        }
    }

    /// Says that there is no use in going on, and why.
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
