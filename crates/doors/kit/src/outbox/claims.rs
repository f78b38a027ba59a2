//! Deliveries in progress, so that no destination and no ordered lane has two attempts at once.

use std::collections::HashMap;

use jackfield_core::outbox::OutboxRow;
use jackfield_model::CallbackId;
use tokio::task::Id;

/// The destination and lane that one attempt locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryClaim {
    id: CallbackId,
    origin: String,
    lane: Option<String>,
}

impl DeliveryClaim {
    pub(super) fn of(row: &OutboxRow) -> Self {
        Self {
            id: row.id,
            origin: row.callback.origin(),
            lane: row.lane.clone(),
        }
    }

    /// Returns whether two attempts conflict. A lane may have two destinations for a moment, when its
    /// subscriber moved.
    fn excludes(&self, other: &Self) -> bool {
        self.id == other.id
            || self.origin == other.origin
            || (self.lane.is_some() && self.lane == other.lane)
    }
}

/// Claims of the attempts in progress. They are few, so a linear search is quick.
#[derive(Debug, Default)]
pub(super) struct DeliveryClaims(HashMap<Id, DeliveryClaim>);

impl DeliveryClaims {
    /// Returns whether no attempt in progress conflicts with `claim`.
    pub(super) fn allow(&self, claim: &DeliveryClaim) -> bool {
        !self.0.values().any(|taken| taken.excludes(claim))
    }

    /// Holds the claim until the task ends.
    pub(super) fn take(&mut self, task: Id, claim: DeliveryClaim) {
        self.0.insert(task, claim);
    }

    /// Releases and returns the claim of a finished task.
    pub(super) fn release(&mut self, task: Id) -> Option<DeliveryClaim> {
        self.0.remove(&task)
    }
}
