//! The sidecar's answers to peers: the agent's card with its own paths, and handoffs to these paths.

use std::{sync::Arc, time::Duration};

use jackfield_model::{Failure, Reason};
use jackfield_peer::{
    allowed::Allowed,
    card,
    failure::HandoffError,
    limits::{HOPS, MAX_ANSWER},
    origin::Origin,
    serve::{self, HandoffProtocol, HandoffReply, Host, check_hops},
    wire::{BodyLimits, HandOff, path},
};
use tokio::time::timeout;

use crate::{endpoint::Endpoint, fetch::Fetch, limits::CARD_WAIT};

/// Serves the one agent of a sidecar.
#[derive(Debug, Clone)]
pub(super) struct AgentHost(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    endpoint: Endpoint,
    allowed: Allowed,
    /// Time that the agent has for a plain answer.
    deadline: Duration,
}

impl AgentHost {
    pub(super) fn new(endpoint: Endpoint, allowed: Allowed, deadline: Duration) -> Self {
        Self(Arc::new(Inner {
            endpoint,
            allowed,
            deadline,
        }))
    }

    fn check_allowed(&self, peer: &str, origin: Origin) -> Result<(), Failure> {
        if self.0.allowed.includes(peer, origin) {
            return Ok(());
        }
        let text = "this agent takes handoffs from allowed peers only; ask its operator";
        Err(Failure::new(Reason::Unauthorized, text))
    }

    fn read(&self, peer: &str, origin: Origin, request: &[u8]) -> Result<HandOff, HandoffError> {
        // Checked first, so that a stranger learns nothing about its request.
        self.check_allowed(peer, origin)?;
        Ok(HandOff::read(request, &self.limits())?)
    }

    async fn begin(&self, hand_off: HandOff) -> Result<Fetch, HandoffError> {
        check_hops(&hand_off, HOPS)?;
        let path = path::expand(&hand_off.path, &hand_off.params)?;
        let endpoint = &self.0.endpoint;
        if endpoint.sight().last().is_none() {
            // The agent may have started a moment ago.
            endpoint.card().await?;
        }
        let plan = |input| endpoint.plan(hand_off.method, &path, input, MAX_ANSWER);
        if let Ok(fetch) = plan(hand_off.input.clone()) {
            return Ok(fetch);
        }
        // The agent may have changed since its card was fetched.
        drop(timeout(CARD_WAIT, endpoint.look_anew()).await);
        plan(hand_off.input)
    }
}

impl Host for AgentHost {
    type Work = Fetch;

    fn limits(&self) -> BodyLimits {
        BodyLimits::default()
    }

    async fn card(&self, peer: &str, origin: Origin) -> String {
        if self.check_allowed(peer, origin).is_err() {
            let sight = self.0.endpoint.sight();
            let name = sight.last().map_or("Agent", |shown| &shown.card.name);
            return card::closed_agent_card(name);
        }
        match self.0.endpoint.card().await {
            Ok(shown) => shown.text.clone(),
            Err(HandoffError::Reported(error)) => error.to_json(),
            Err(HandoffError::Cancelled) => String::new(),
        }
    }

    async fn answer(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
        way: HandoffProtocol,
    ) -> HandoffReply<Fetch> {
        let (is_framed, fetch) = match self.read(peer, origin, request) {
            Ok(hand_off) => {
                let is_framed = way == HandoffProtocol::Framed || hand_off.stream;
                (is_framed, self.begin(hand_off).await)
            }
            Err(trouble) => (way == HandoffProtocol::Framed, Err(trouble)),
        };
        serve::answer(fetch, is_framed, self.0.deadline).await
    }
}
