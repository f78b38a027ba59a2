//! The hub's side of a handoff: a request becomes a call, a request to an agent behind HTTP, or an answer
//! from the hub itself. Bytes in, bytes out; `jackfield-peer` reads and writes the streams.
//!
//! - `work.rs` the work that a handoff becomes, `listen.rs` the caller's end of a call

mod listen;
#[cfg(test)]
mod tests;
mod work;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue};
use jackfield_core::{
    entry::AgentView,
    hub::{Hub, Request, Wanted},
    principal::{Grant, Principal, Who},
};
use jackfield_kit::{files::Files, trace};
use jackfield_model::{AgentId, Failure, Message, Owner, Reason};
use jackfield_peer::{
    allowed::Allowed,
    failure::HandoffError,
    origin::Origin,
    serve::{self, DEADLINE, HandoffProtocol, HandoffReply, Host},
    wire::{self, HandOff, Method, path, path::PeerRoute},
};
use jackfield_sidecar::{Endpoint, EndpointState};

use self::{listen::CallListener, work::HandoffWork};
use crate::{
    DOOR,
    card::{self, HttpAgent, PathTarget},
    translate::message_from,
};

/// Terms on which the hub accepts handoffs.
#[derive(Debug, Clone)]
pub(crate) struct HandoffTerms {
    /// Name of the hub among peers.
    pub(crate) name: String,
    /// Owner on whose behalf peers call: they reach this owner's agents, and shared ones.
    pub(crate) owner: Owner,
    /// Peers that may hand off.
    pub(crate) allowed: Allowed,
    /// Agent that gets handoffs to the hub itself, `/{goal}`.
    pub(crate) default_agent: Option<AgentId>,
    /// Time that an agent has for a plain answer; a streamed one has the hub's own timeouts.
    pub(crate) deadline: Duration,
}

impl Default for HandoffTerms {
    fn default() -> Self {
        Self {
            name: "Jackfield".to_owned(),
            owner: Owner::local(),
            allowed: Allowed::nobody(),
            default_agent: None,
            deadline: DEADLINE,
        }
    }
}

/// The [`Host`] of a hub. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct HubHost(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hub: Hub,
    files: Arc<Files>,
    terms: HandoffTerms,
    endpoints: BTreeMap<AgentId, Endpoint>,
}

impl Host for HubHost {
    type Work = HandoffWork;

    fn limits(&self) -> wire::BodyLimits {
        wire::BodyLimits {
            max_depth: self.0.hub.limits().json_depth,
            ..wire::BodyLimits::default()
        }
    }

    async fn card(&self, peer: &str, origin: Origin) -> String {
        Self::card(self, peer, origin)
    }

    async fn answer(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
        way: HandoffProtocol,
    ) -> HandoffReply<HandoffWork> {
        Self::answer(self, peer, origin, request, way).await
    }
}

impl HubHost {
    /// Creates the host of a hub, with the configured agents behind HTTP. These are no agents of the hub; for
    /// peers they replace agents of the same id.
    pub(crate) fn new(
        hub: Hub,
        files: Arc<Files>,
        terms: HandoffTerms,
        endpoints: impl IntoIterator<Item = (AgentId, Endpoint)>,
    ) -> Self {
        Self(Arc::new(Inner {
            hub,
            files,
            terms,
            endpoints: endpoints.into_iter().collect(),
        }))
    }

    /// Returns the [`Hub`].
    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Returns the files under links.
    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.0.files
    }

    /// Returns the [`HandoffTerms`].
    pub(crate) fn terms(&self) -> &HandoffTerms {
        &self.0.terms
    }

    /// Returns the [`Principal`] of a peer, proved by its connection.
    pub(crate) fn principal(&self, peer: &str, origin: Origin) -> Result<Principal, Failure> {
        if !self.0.terms.allowed.includes(peer, origin) {
            let text = "this hub takes handoffs from allowed peers only; ask its operator";
            return Err(Failure::new(Reason::Unauthorized, text));
        }
        Ok(Principal {
            owner: self.0.terms.owner.clone(),
            who: Who::Peer(peer.into()),
            grant: Arc::new(Grant::default()),
        })
    }

    /// Returns the agents that an allowed peer reaches.
    pub(crate) fn reached(&self) -> Vec<AgentView> {
        self.agents(&Principal::person(self.0.terms.owner.clone()))
    }

    /// Writes the card for a card stream: at most 16 KiB.
    pub(crate) fn card(&self, peer: &str, origin: Origin) -> String {
        match self.principal(peer, origin) {
            Ok(principal) => self.hub_card(&principal),
            Err(_) => card::closed_card(&self.0.terms.name),
        }
    }

    /// Answers a handoff. Dropping the future, or the frames of the answer, cancels the work.
    pub(crate) async fn answer(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
        way: HandoffProtocol,
    ) -> HandoffReply<HandoffWork> {
        let (is_framed, job) = match self.read(peer, origin, request) {
            Ok((principal, hand_off)) => {
                let is_framed = way == HandoffProtocol::Framed || hand_off.stream;
                (is_framed, self.begin(principal, hand_off))
            }
            Err(trouble) => (way == HandoffProtocol::Framed, Err(trouble)),
        };
        if let Err(HandoffError::Reported(error)) = &job
            && matches!(error.code, 400 | 405 | 413)
        {
            self.0.hub.metrics().refused(DOOR);
        }
        serve::answer(job, is_framed, self.0.terms.deadline).await
    }

    fn read(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
    ) -> Result<(Principal, HandOff), HandoffError> {
        // Checked first, so that a stranger learns nothing about its request.
        let principal = self.principal(peer, origin)?;
        Ok((principal, HandOff::read(request, &self.limits())?))
    }

    fn begin(&self, principal: Principal, hand_off: HandOff) -> Result<HandoffWork, HandoffError> {
        let path = path::expand(&hand_off.path, &hand_off.params)?;
        match path::route(&path)? {
            PeerRoute::Card => {
                check_method(hand_off.method, Method::Get)?;
                Ok(HandoffWork::Known(self.hub_card(&principal)))
            }
            PeerRoute::Agents => {
                check_method(hand_off.method, Method::Get)?;
                let seen = self.seen();
                let list = card::agent_list(&self.agents(&principal), behind(&seen));
                Ok(HandoffWork::Known(list))
            }
            PeerRoute::AgentCard(id) => {
                // An unknown agent is reported first, as everywhere.
                let card = self.agent_card(&principal, &id)?;
                check_method(hand_off.method, Method::Get)?;
                Ok(HandoffWork::Known(card))
            }
            PeerRoute::Agent { id, rest } => match self.0.endpoints.get(id.as_str()) {
                Some(endpoint) => {
                    self.check_hops(&hand_off)?;
                    let max = self.0.hub.limits().message.0;
                    let fetch = endpoint.plan(hand_off.method, &rest, hand_off.input, max)?;
                    Ok(HandoffWork::Fetch(fetch))
                }
                None => self.ask(principal, &id, &rest, &hand_off),
            },
            PeerRoute::Goal(goal) => {
                let agent = self.0.terms.default_agent.clone();
                let agent = agent.ok_or_else(|| {
                    HandoffError::with_code(
                        404,
                        "no agent takes what is handed to the hub itself; see GET /agents",
                    )
                })?;
                check_method(hand_off.method, Method::Post)?;
                let message = message_from(&hand_off, None, Some(goal));
                self.call(principal, agent, message, &hand_off)
            }
        }
    }

    /// Begins work at an agent of the hub.
    fn ask(
        &self,
        principal: Principal,
        id: &str,
        rest: &str,
        hand_off: &HandOff,
    ) -> Result<HandoffWork, HandoffError> {
        let view = self.find(&principal, id)?;
        let skill = match card::path_target(&view, rest) {
            PathTarget::Any => None,
            PathTarget::Skill(skill) => Some(skill),
            PathTarget::Nothing => {
                let text = format!(
                    "agent {} has nothing at this path; see GET /agents/{0}/card",
                    view.id
                );
                return Err(HandoffError::with_code(404, text));
            }
        };
        check_method(hand_off.method, Method::Post)?;
        let message = message_from(hand_off, skill, None);
        self.call(principal, view.id.clone(), message, hand_off)
    }

    fn call(
        &self,
        principal: Principal,
        agent: AgentId,
        message: Option<Message>,
        hand_off: &HandOff,
    ) -> Result<HandoffWork, HandoffError> {
        self.check_hops(hand_off)?;
        let message = message.ok_or_else(|| {
            HandoffError::with_code(
                400,
                "field \"input_data\" is required: say what the agent is to do",
            )
        })?;
        let mut request = Request::new(principal, DOOR, agent, message);
        request.hops = usize::try_from(hand_off.hops).unwrap_or(usize::MAX);
        if let Some(trace) = &hand_off.trace
            && let Ok(value) = HeaderValue::from_str(trace)
        {
            trace::set_origin(&mut request, &HeaderMap::from_iter([(TRACEPARENT, value)]))?;
        }
        let asking = self.0.hub.calls().open(request)?;
        let call = asking.call();
        tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "live call");
        let files = self.0.files.of_call(call);
        let listening = CallListener::new(asking, self.0.hub.limits().message);
        Ok(HandoffWork::Call(listening, files))
    }

    fn check_hops(&self, hand_off: &HandOff) -> Result<(), Failure> {
        serve::check_hops(hand_off, self.0.hub.limits().hops)
    }

    /// Returns an agent that the principal may call and peers may know. All others look unknown.
    fn find(&self, principal: &Principal, id: &str) -> Result<AgentView, Failure> {
        self.find_shown(principal, id).map_err(|failure| {
            if failure.reason != Reason::NotFound || !id.contains('@') {
                return failure;
            }
            let text = format!(
                "{}; agents of peers (NAME@…) are not shown to peers: hand off to the peer itself",
                failure.text
            );
            Failure::new(Reason::NotFound, text)
        })
    }

    fn find_shown(&self, principal: &Principal, id: &str) -> Result<AgentView, Failure> {
        let view = self.0.hub.agents().find(principal, id)?.view();
        if card::is_shown(&view) {
            Ok(view)
        } else {
            Err(Failure::no_such_agent(id))
        }
    }

    /// Returns the agents that the principal may call and peers may know, without those that agents behind
    /// HTTP replace.
    fn agents(&self, principal: &Principal) -> Vec<AgentView> {
        let mut agents = self.0.hub.agents().discover(principal, &Wanted::default());
        agents.retain(|view| {
            !self.0.endpoints.contains_key(&view.id)
                && self.find(principal, view.id.as_str()).is_ok()
        });
        agents
    }

    /// Returns the [`EndpointState`] of each agent behind HTTP.
    fn seen(&self) -> Vec<(&str, EndpointState)> {
        let endpoints = self.0.endpoints.iter();
        let seen = endpoints.map(|(id, endpoint)| (id.as_str(), endpoint.sight()));
        seen.collect()
    }

    fn hub_card(&self, principal: &Principal) -> String {
        let terms = &self.0.terms;
        let takes_goals = terms.default_agent.as_ref();
        let takes_goals = takes_goals.is_some_and(|id| self.find(principal, id.as_str()).is_ok());
        card::hub_card(
            &terms.name,
            &self.agents(principal),
            behind(&self.seen()),
            takes_goals,
        )
    }

    fn agent_card(&self, principal: &Principal, id: &str) -> Result<String, HandoffError> {
        let Some(endpoint) = self.0.endpoints.get(id) else {
            return Ok(card::agent_card(&self.find(principal, id)?));
        };
        match endpoint.sight().last() {
            Some(shown) => Ok(card::behind_card(id, &shown.card)),
            None => Err(HandoffError::with_code(
                504,
                "the agent has not shown its card yet",
            )),
        }
    }
}

/// Returns the agents behind HTTP that ever had a card.
fn behind<'a>(seen: &'a [(&'a str, EndpointState)]) -> impl Iterator<Item = HttpAgent<'a>> {
    seen.iter().filter_map(|(id, sight)| {
        Some(HttpAgent {
            id,
            card: &sight.last()?.card,
            is_here: sight.is_here(),
        })
    })
}

/// Header of a trace, for the check that HTTP requests share.
const TRACEPARENT: http::HeaderName = http::HeaderName::from_static("traceparent");

fn check_method(given: Method, wanted: Method) -> Result<(), HandoffError> {
    if given == wanted {
        return Ok(());
    }
    let text = format!("field \"method\" must be {wanted} at this path, not {given}");
    Err(HandoffError::with_code(405, text))
}
