//! The visit of a peer: what ends it, and what it has shown so far.

use std::sync::Arc;

use jackfield_model::AgentId;
use jackfield_peer::known::PastError;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A peer that is here.
#[derive(Debug)]
pub(super) struct Visit {
    /// Ends it.
    pub(super) over: CancellationToken,
    /// Has it looked at again at once.
    pub(super) again: Arc<Notify>,
    /// What is known of it.
    pub(super) shown: Mutex<Shown>,
}

/// What a peer has shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    /// What its card calls it.
    pub(crate) name: Option<String>,
    /// Its agents that are attached, by id.
    pub(crate) agents: Vec<AgentId>,
    /// Why it is no agent.
    pub(crate) setback: Option<PastError>,
    /// Whether it was looked at, with whatever result.
    pub(super) is_looked_at: bool,
}

impl Visit {
    pub(super) fn new(over: CancellationToken) -> Self {
        Self {
            over,
            again: Arc::default(),
            shown: Mutex::default(),
        }
    }
}
