//! Ids that stand for an agent: a [`Resolver`](crate::resolver::Resolver) reserves them, and opens their calls at the agent.
//! Such an id is online as long as the agent is, and shows those of the agent's calls that were made to it.

use std::sync::{Arc, atomic::Ordering};

use super::Entry;
use crate::{
    agent::{Closing, Link},
    call::{Call, Serving},
};

impl Entry {
    /// The agent that this id stands for, if it stands for one that is known.
    pub fn stands_for(&self) -> Option<Arc<Self>> {
        self.state.lock().stands_for.clone().flatten()
    }

    /// Makes this the id of another agent; of nobody for now with `None`. Only a resolver does so, with an id that it has
    /// reserved, and never with an agent that stands for another one itself.
    pub fn stand_for(&self, agent: Option<Arc<Self>>) {
        self.state.lock().stands_for = Some(agent);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// The way to an id that stands for an agent, as doors see it: there is one as long as the agent is attached. Nothing is
/// ever delivered here.
#[derive(Debug)]
pub(super) struct AliasLink {
    agent: Arc<dyn Link>,
    door: &'static str,
}

impl AliasLink {
    pub(super) fn new(agent: Arc<dyn Link>, door: &'static str) -> Self {
        Self { agent, door }
    }
}

impl Link for AliasLink {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        Err(call)
    }

    fn cancel(&self, _: &Arc<Call>) {}

    fn close(&self, _: Closing) {}

    fn alive(&self, call: &Call) -> bool {
        self.agent.alive(call)
    }

    fn is_silent(&self) -> bool {
        self.agent.is_silent()
    }

    fn door(&self) -> &'static str {
        self.door
    }

    fn takes_streamed_input(&self) -> bool {
        self.agent.takes_streamed_input()
    }

    fn one_call_per_session(&self) -> bool {
        self.agent.one_call_per_session()
    }
}
