//! One request: who asks, of which agent, in which version, and what its headers say besides.

use std::sync::{Arc, OnceLock};

use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use jackfield_core::{hub::Wanted, principal::Principal};
use jackfield_kit::{
    auth::Came,
    server::{Peer, Room},
};
use jackfield_model::{AgentId, Reason};

use super::{failure::fault_from, rules};
use crate::A2a;
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
};

/// One request. The operations are its methods, each in the file of its kind.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) a2a: Arc<A2a>,
    /// Who asks.
    pub(crate) principal: Principal,
    /// The agent that the address names; none at the address of the hub itself.
    pub(crate) agent: Option<AgentId>,
    /// The version that is spoken.
    pub(crate) version: Version,
    /// The headers, or gRPC's metadata.
    pub(crate) headers: HeaderMap,
    /// How the request came.
    came: Came,
    /// The agent that the request turned out to be for.
    found: Arc<OnceLock<AgentId>>,
    /// What is counted of the answer while it is made; none where no server counts.
    pub(crate) room: Option<Room>,
}

impl Visit {
    /// A visit to the agent that the address names, or to the hub itself. The caller must be able to see that agent.
    pub(crate) fn new(
        a2a: Arc<A2a>,
        agent: Option<&str>,
        version: Version,
        head: &Parts,
    ) -> Result<Self, Fault> {
        let principal = a2a.gatekeeper.admit_request(head);
        let principal = principal.map_err(fault_from)?;
        let agent = agent.map(|id| known(&a2a, &principal, id)).transpose()?;
        Ok(Self {
            a2a,
            principal,
            agent,
            version,
            headers: head.headers.clone(),
            came: Came::with(head),
            found: Arc::default(),
            room: head
                .extensions
                .get::<Peer>()
                .map(|peer| peer.account.room()),
        })
    }

    /// Whom a message is for: the agent of the address, else the one that `tenant` names, else the hub's default one,
    /// else the only one that the caller can reach.
    pub(crate) fn target(&self, tenant: Option<&str>) -> Result<AgentId, Fault> {
        let target = self.find_target(tenant)?;
        self.found.get_or_init(|| target.clone());
        Ok(target)
    }

    /// The header of an answer that says which of the declared extensions the agent knows; none if it is none of them.
    pub(crate) fn extensions(&self) -> Option<(HeaderName, HeaderValue)> {
        let declared = rules::declared_extensions(&self.headers);
        if declared.is_empty() {
            return None;
        }
        let agent = self.agent.as_ref().or_else(|| self.found.get())?;
        let entry = self
            .a2a
            .hub
            .agents()
            .find(&self.principal, agent.as_str())
            .ok()?;
        let known = entry.view().profile.extensions;
        let is_known = |uri: &&String| known.iter().any(|it| it.uri == **uri);
        let active: Vec<&str> = declared
            .iter()
            .filter(is_known)
            .map(String::as_str)
            .collect();
        if active.is_empty() {
            return None;
        }
        let name = HeaderName::from_bytes(self.version.extensions_header().as_bytes()).ok()?;
        Some((name, HeaderValue::try_from(active.join(", ")).ok()?))
    }

    fn find_target(&self, tenant: Option<&str>) -> Result<AgentId, Fault> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        if let Some(tenant) = tenant.filter(|tenant| !tenant.is_empty()) {
            return known(&self.a2a, &self.principal, tenant);
        }
        if let Some(default) = &self.a2a.default_agent {
            return known(&self.a2a, &self.principal, default.as_str());
        }
        let wanted = Wanted {
            online: true,
            ..Wanted::default()
        };
        let mut agents = self.a2a.hub.agents().discover(&self.principal, &wanted);
        match agents.len() {
            1 => Ok(agents.remove(0).id),
            0 => Err(Fault::new(
                Kind::AgentNotFound,
                "no agent is attached to this hub that you may call",
            )),
            _ => Err(Fault::field(
                "tenant",
                "this address serves many agents: name one here, or use its own address from its card",
            )),
        }
    }
}

impl Visit {
    /// The card for callers who show who they are, as JSON of the version that is spoken. Both versions say that this one needs
    /// authentication: whoever shows nothing does not get it, trusted or not.
    pub(crate) fn extended_card(&self, tenant: Option<&str>) -> Result<String, Fault> {
        if !self.headers.contains_key(header::AUTHORIZATION) {
            return Err(Fault::new(
                Kind::Unauthenticated,
                "the extended card needs authentication: send Authorization: Bearer TOKEN",
            ));
        }
        let agent = self.target(tenant)?;
        let card = self
            .a2a
            .extended_card_json(&self.principal, &agent, self.version, &self.came);
        card.map_err(|failure| match failure.reason {
            // The agent is there, or it would have been missed before.
            Reason::NotFound => Fault::new(Kind::NoExtendedCard, failure.text),
            _ => fault_from(failure),
        })
    }
}

/// Foreign and unknown agents look the same, and so does what cannot be an id at all.
fn known(a2a: &A2a, principal: &Principal, id: &str) -> Result<AgentId, Fault> {
    let parsed = AgentId::parse(id).ok();
    let found = parsed.filter(|id| a2a.hub.agents().find(principal, id.as_str()).is_ok());
    found.ok_or_else(|| Fault::new(Kind::AgentNotFound, format!("agent '{id}' not found")))
}
