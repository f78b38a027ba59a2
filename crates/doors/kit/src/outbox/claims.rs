//! What is under way, so that no destination and no lane has two tries at once.

use std::collections::HashMap;

use jackfield_core::outbox::OutboxRow;
use jackfield_model::CallbackId;
use tokio::task::Id;

/// What one try keeps from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    id: CallbackId,
    origin: String,
    lane: Option<String>,
}

impl Claim {
    pub(super) fn of(row: &OutboxRow) -> Self {
        Self {
            id: row.id,
            origin: row.callback.origin(),
            lane: row.lane.clone(),
        }
    }

    /// A lane may have two destinations for a moment, when its follower moved.
    fn excludes(&self, other: &Self) -> bool {
        self.id == other.id
            || self.origin == other.origin
            || (self.lane.is_some() && self.lane == other.lane)
    }
}

/// The claims of the tries that are under way. They are few, so that looking through all is quick.
#[derive(Debug, Default)]
pub(super) struct Claims(HashMap<Id, Claim>);

impl Claims {
    /// Whether nothing that is under way stands against it.
    pub(super) fn allow(&self, claim: &Claim) -> bool {
        !self.0.values().any(|taken| taken.excludes(claim))
    }

    /// The claim holds until that task is over.
    pub(super) fn take(&mut self, task: Id, claim: Claim) {
        self.0.insert(task, claim);
    }

    /// The task is over. Returns what it had claimed.
    pub(super) fn release(&mut self, task: Id) -> Option<Claim> {
        self.0.remove(&task)
    }
}
