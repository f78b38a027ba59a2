//! Aliases: ids that stand for an agent. A [`Resolver`](crate::resolver::Resolver) reserves them, and opens
//! their calls at the agent. An alias is online as long as its agent is, and shows the calls that were made
//! to it.

use std::sync::{Arc, atomic::Ordering};

use super::Entry;
use crate::{
    agent::{Closing, Link},
    call::{AgentHandle, Call},
};

impl Entry {
    /// Returns the agent that this alias stands for, if known.
    pub fn stands_for(&self) -> Option<Arc<Self>> {
        self.state.lock().stands_for.clone().flatten()
    }

    /// Makes this entry an alias of `agent`; of no agent for now with `None`. Only for resolvers, with an id
    /// that the resolver has reserved, and never with an agent that is an alias itself.
    pub fn stand_for(&self, agent: Option<Arc<Self>>) {
        self.state.lock().stands_for = Some(agent);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// Link of an alias, as doors see it, while its agent is attached. Refuses every delivery.
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
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
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
