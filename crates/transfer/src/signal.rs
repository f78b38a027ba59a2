//! The signals by which the parties of a transfer and the hub negotiate: their types and their payloads.
//!
//! The type of a signal is an open set: two parties may agree on further types, and the hub passes them on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Only fetches waiting signals.
pub const POLL: &str = "poll";
/// SDP of the party that opens a data channel; the hub adds ICE servers.
pub const OFFER: &str = "offer";
/// SDP of the party that answers an [`OFFER`].
pub const ANSWER: &str = "answer";
/// An address of a party: `{"candidate","mid"}` as JSON text.
pub const CANDIDATE: &str = "candidate";
/// Announces an archive to an agent; its payload is the archive's offer.
pub const PREPARE_UPLOAD: &str = "prepare-upload";
/// The hub asks an agent to send or fetch an archive through the hub; its payload is a [`RelayTicket`].
pub const RELAY: &str = "relay";

const PREPARED: &str = "prepared";
const RECEIVED: &str = "received";
const INTERRUPTED: &str = "interrupted";
const FAILED: &str = "failed";

/// Payload of [`RELAY`]. `Debug` does not show the ticket.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayTicket {
    /// The secret that the agent shows to the hub.
    pub ticket: String,
    /// Number of bytes that the receiver has already.
    pub offset: u64,
    /// What the agent is to do.
    pub direction: RelayDirection,
}

impl fmt::Debug for RelayTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayTicket")
            .field("offset", &self.offset)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// Part of the agent in a transfer through the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayDirection {
    /// The agent sends the archive.
    Send,
    /// The agent receives the archive.
    Receive,
}

/// A signal of an agent about the progress of a transfer. The hub sends [`StatusSignal::Interrupted`] for an agent
/// that is gone. Only agents of Jackfield send these signals; other callers ignore them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusSignal {
    /// The agent expects the archive, and has this many bytes already.
    Prepared(u64),
    /// The agent has verified and unpacked the archive, with this many files.
    Received(u64),
    /// The transfer was interrupted for this reason; a new attempt can continue it.
    Interrupted(String),
    /// The transfer failed permanently for this reason.
    Failed(String),
}

/// The payload of all [`StatusSignal`] signals, with the fields of each.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StatusPayload {
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl StatusSignal {
    /// Reads a signal; returns `None` if the signal is no status.
    pub fn read(signal_type: &str, payload: &str) -> Option<Self> {
        let StatusPayload {
            received,
            files,
            reason,
        } = serde_json::from_str(payload).ok()?;
        match signal_type {
            PREPARED => Some(Self::Prepared(received.unwrap_or_default())),
            RECEIVED => Some(Self::Received(files.unwrap_or_default())),
            INTERRUPTED => Some(Self::Interrupted(reason.unwrap_or_default())),
            FAILED => Some(Self::Failed(reason.unwrap_or_default())),
            _ => None,
        }
    }

    /// Returns the type of the signal.
    pub fn signal_type(&self) -> &'static str {
        match self {
            Self::Prepared(_) => PREPARED,
            Self::Received(_) => RECEIVED,
            Self::Interrupted(_) => INTERRUPTED,
            Self::Failed(_) => FAILED,
        }
    }

    /// Returns the payload of the signal.
    pub fn payload(&self) -> String {
        let mut payload = StatusPayload::default();
        match self {
            Self::Prepared(received) => payload.received = Some(*received),
            Self::Received(files) => payload.files = Some(*files),
            Self::Interrupted(reason) | Self::Failed(reason) => {
                payload.reason = Some(reason.clone());
            }
        }
        serde_json::to_string(&payload).expect("numbers and texts are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        for (status, signal_type, payload) in [
            (StatusSignal::Prepared(7), "prepared", r#"{"received":7}"#),
            (StatusSignal::Received(2), "received", r#"{"files":2}"#),
            (
                StatusSignal::Interrupted("cut".to_owned()),
                "interrupted",
                r#"{"reason":"cut"}"#,
            ),
            (
                StatusSignal::Failed("full".to_owned()),
                "failed",
                r#"{"reason":"full"}"#,
            ),
        ] {
            assert_eq!(status.signal_type(), signal_type);
            assert_eq!(status.payload(), payload);
            assert_eq!(StatusSignal::read(signal_type, payload), Some(status));
        }
        assert_eq!(StatusSignal::read("answer", "{}"), None);
        assert_eq!(StatusSignal::read("failed", "v=0"), None);
    }

    #[test]
    fn a_ticket_names_the_direction_for_the_agent() {
        let ticket = RelayTicket {
            ticket: "t".to_owned(),
            offset: 3,
            direction: RelayDirection::Receive,
        };
        let text = r#"{"ticket":"t","offset":3,"direction":"receive"}"#;
        assert_eq!(serde_json::to_string(&ticket).unwrap(), text);
        assert_eq!(serde_json::from_str::<RelayTicket>(text).unwrap(), ticket);
    }
}
