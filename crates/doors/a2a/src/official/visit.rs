//! One request: its caller, agent, version and headers.

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

/// One request. Every operation is a method of [`Visit`], in the file of the operation.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) a2a: Arc<A2a>,
    /// Authenticated caller.
    pub(crate) principal: Principal,
    /// Agent that the address names; `None` at the address of the hub itself.
    pub(crate) agent: Option<AgentId>,
    /// Protocol version of the request.
    pub(crate) version: Version,
    /// HTTP headers or gRPC metadata.
    pub(crate) headers: HeaderMap,
    /// Route of the connection: direct, forwarded by a proxy, or over a local socket.
    came: Came,
    /// Agent that [`Visit::target`] chose.
    found: Arc<OnceLock<AgentId>>,
    /// Memory account of the answer under construction; `None` if the server does not account memory.
    pub(crate) room: Option<Room>,
}

impl Visit {
    /// Authenticates the request and finds the agent that the address names, if any. Fails if the caller may
    /// not see the agent.
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

    /// Returns the agent that a message is for. The order is: agent of the address, agent named by `tenant`,
    /// the hub's default agent, the only online agent that the caller may call.
    pub(crate) fn target(&self, tenant: Option<&str>) -> Result<AgentId, Fault> {
        let target = self.find_target(tenant)?;
        self.found.get_or_init(|| target.clone());
        Ok(target)
    }

    /// Returns the response header that lists the declared extensions known to the agent; `None` if the list
    /// is empty.
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
    /// Returns the extended card as JSON of the request's version. Both versions demand authentication for
    /// the extended card, so a request without credentials fails even if the hub trusts the connection.
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
            // The agent exists; otherwise `target` would have failed.
            Reason::NotFound => Fault::new(Kind::NoExtendedCard, failure.text),
            _ => fault_from(failure),
        })
    }
}

/// Finds an agent that the caller may see. Agents of other owners, unknown ids and invalid ids give the same
/// error.
fn known(a2a: &A2a, principal: &Principal, id: &str) -> Result<AgentId, Fault> {
    let parsed = AgentId::parse(id).ok();
    let found = parsed.filter(|id| a2a.hub.agents().find(principal, id.as_str()).is_ok());
    found.ok_or_else(|| Fault::new(Kind::AgentNotFound, format!("agent '{id}' not found")))
}
