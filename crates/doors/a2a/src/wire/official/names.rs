//! Names of states and roles. Input may have the name of either version, or the gRPC number.

use super::{
    A2aVersion,
    model::{A2aState, Role},
};

/// States in the order of their numbers, with their names in 0.3 and 1.0.
const STATES: [(A2aState, &str, &str); 9] = [
    (A2aState::Unknown, "unknown", "TASK_STATE_UNSPECIFIED"),
    (A2aState::Submitted, "submitted", "TASK_STATE_SUBMITTED"),
    (A2aState::Working, "working", "TASK_STATE_WORKING"),
    (A2aState::Completed, "completed", "TASK_STATE_COMPLETED"),
    (A2aState::Failed, "failed", "TASK_STATE_FAILED"),
    (A2aState::Canceled, "canceled", "TASK_STATE_CANCELED"),
    (
        A2aState::InputRequired,
        "input-required",
        "TASK_STATE_INPUT_REQUIRED",
    ),
    (A2aState::Rejected, "rejected", "TASK_STATE_REJECTED"),
    (
        A2aState::AuthRequired,
        "auth-required",
        "TASK_STATE_AUTH_REQUIRED",
    ),
];

/// Name of [`A2aState::Canceled`] in the gRPC and REST messages of 0.3, which has a different spelling there.
pub(super) const OLD_CANCELED: &str = "TASK_STATE_CANCELLED";

impl A2aState {
    /// Returns the name in a version.
    pub(crate) fn name(self, version: A2aVersion) -> &'static str {
        // Every state is in the list; a test checks the completeness.
        let found = STATES.iter().find(|(state, ..)| *state == self);
        found.map_or("", |(_, old, new)| match version {
            A2aVersion::V03 => old,
            A2aVersion::V10 => new,
        })
    }

    /// Returns the names of all states in a version, except the unspecified state.
    pub(super) fn names(version: A2aVersion) -> String {
        let known = STATES.iter().skip(1);
        let names: Vec<_> = known.map(|(state, ..)| state.name(version)).collect();
        names.join(", ")
    }

    /// Parses a [`A2aState`] name of any version.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if name == OLD_CANCELED {
            return Some(Self::Canceled);
        }
        let mut states = STATES.iter();
        let found = states.find(|(_, old, new)| name == *old || name == *new);
        found.map(|(state, ..)| *state)
    }

    /// Returns the state with this number.
    pub(super) fn from_number(number: i64) -> Option<Self> {
        let index = usize::try_from(number).ok()?;
        STATES.get(index).map(|(state, ..)| *state)
    }
}

impl Role {
    /// Returns the name in a version.
    pub(crate) fn name(self, version: A2aVersion) -> &'static str {
        match (self, version) {
            (Self::User, A2aVersion::V03) => "user",
            (Self::Agent, A2aVersion::V03) => "agent",
            (Self::User, A2aVersion::V10) => "ROLE_USER",
            (Self::Agent, A2aVersion::V10) => "ROLE_AGENT",
        }
    }

    /// Parses a [`Role`] name of any version.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "user" | "ROLE_USER" => Some(Self::User),
            "agent" | "ROLE_AGENT" => Some(Self::Agent),
            _ => None,
        }
    }

    /// Returns the role with this number.
    pub(super) fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::User),
            2 => Some(Self::Agent),
            _ => None,
        }
    }
}
