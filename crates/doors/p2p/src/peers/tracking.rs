//! A tracked peer: the handles of its task, and what the peer has shown so far.

use std::sync::Arc;

use jackfield_model::AgentId;
use jackfield_peer::known::PastError;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A tracked peer.
#[derive(Debug)]
pub(super) struct Tracking {
    /// Ends the tracking.
    pub(super) over: CancellationToken,
    /// Makes the task look at the peer again at once.
    pub(super) again: Arc<Notify>,
    /// What the peer has shown.
    pub(super) shown: Mutex<PeerStatus>,
}

/// What a peer has shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerStatus {
    /// Name on the peer's card.
    pub(crate) name: Option<String>,
    /// Ids of the attached agents.
    pub(crate) agents: Vec<AgentId>,
    /// Why the peer is no agent.
    pub(crate) error: Option<PastError>,
    /// Whether the first look has ended, with any result.
    pub(super) is_looked_at: bool,
}

impl Tracking {
    pub(super) fn new(over: CancellationToken) -> Self {
        Self {
            over,
            again: Arc::default(),
            shown: Mutex::default(),
        }
    }
}
