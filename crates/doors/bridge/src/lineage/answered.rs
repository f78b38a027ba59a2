//! Requests that an agent has answered, and that it may ask or speak of again because it did not hear that the hub knows.

use std::{collections::VecDeque, sync::Weak};

use jackfield_core::call::{Call, Life};
use jackfield_model::RequestId;

/// How many are remembered: as many as an agent may have open, which is as many as it can be in doubt about.
const REMEMBERED: usize = 64;

/// A request that the agent ended.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    pub(crate) request: RequestId,
    /// The number of the frame that ended it.
    pub(crate) seq: u64,
    /// The call, as long as somebody reads it.
    pub(crate) call: Weak<Call>,
}

impl Answered {
    /// Whether the end need not be sent again: it was taken, and if it is to be written down, it is.
    pub(crate) fn is_kept(&self) -> bool {
        self.call
            .upgrade()
            .is_none_or(|call| call.life == Life::Live || call.acked() >= self.seq)
    }
}

/// The last ones.
#[derive(Debug, Default)]
pub(super) struct Ring(VecDeque<Answered>);

impl Ring {
    pub(super) fn push(&mut self, answered: Answered) {
        self.0.retain(|known| known.request != answered.request);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(answered);
    }

    pub(super) fn find(&self, request: &str) -> Option<&Answered> {
        self.0
            .iter()
            .find(|known| known.request.as_str() == request)
    }
}
