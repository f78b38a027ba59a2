//! The way to a team, as doors see it: there is one as long as its coordinator is attached. Nothing is ever delivered
//! here; calls of a team are opened at its coordinator.

use std::sync::Arc;

use crate::{
    agent::{Closing, Link},
    call::{Call, Serving},
    hub::teams::DOOR,
};

/// The way to a team.
#[derive(Debug)]
pub(crate) struct TeamLink {
    coordinator: Arc<dyn Link>,
}

impl TeamLink {
    pub(crate) fn new(coordinator: Arc<dyn Link>) -> Self {
        Self { coordinator }
    }
}

impl Link for TeamLink {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        Err(call)
    }

    fn cancel(&self, _: &Arc<Call>) {}

    fn close(&self, _: Closing) {}

    fn alive(&self, call: &Call) -> bool {
        self.coordinator.alive(call)
    }

    fn is_silent(&self) -> bool {
        self.coordinator.is_silent()
    }

    fn door(&self) -> &'static str {
        DOOR
    }

    fn takes_streamed_input(&self) -> bool {
        self.coordinator.takes_streamed_input()
    }

    fn one_call_per_session(&self) -> bool {
        self.coordinator.one_call_per_session()
    }
}
