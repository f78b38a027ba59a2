//! Requests that an agent has answered. The agent may mention them again, because it may have missed the
//! acknowledgement.

use std::{collections::VecDeque, sync::Weak};

use jackfield_core::call::{Call, Life};
use jackfield_model::RequestId;

/// Number of remembered requests: as many as an agent may have open, and so can be in doubt about.
const REMEMBERED: usize = 64;

/// A request that the agent ended.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredRequest {
    pub(crate) request: RequestId,
    /// Number of the frame that ended the request.
    pub(crate) seq: u64,
    /// Call of the request, as long as it has a reader.
    pub(crate) call: Weak<Call>,
}

impl AnsweredRequest {
    /// Returns whether the end need not be sent again: it was received, and stored if the call is durable.
    pub(crate) fn is_kept(&self) -> bool {
        self.call
            .upgrade()
            .is_none_or(|call| call.life == Life::Live || call.acked() >= self.seq)
    }
}

/// The last [`AnsweredRequest`] requests.
#[derive(Debug, Default)]
pub(super) struct AnsweredHistory(VecDeque<AnsweredRequest>);

impl AnsweredHistory {
    pub(super) fn push(&mut self, answered: AnsweredRequest) {
        self.0.retain(|known| known.request != answered.request);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(answered);
    }

    pub(super) fn find(&self, request: &str) -> Option<&AnsweredRequest> {
        self.0
            .iter()
            .find(|known| known.request.as_str() == request)
    }
}
