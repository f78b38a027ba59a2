//! One request: its caller, agent, version and headers.

use std::sync::{Arc, OnceLock};

use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use jackfield_core::{hub::Wanted, principal::Principal};
use jackfield_kit::{
    auth::Ingress,
    server::{AnswerReservation, RequestPeer},
};
use jackfield_model::{AgentId, Reason};

use super::{failure::fault_from, rules};
use crate::A2aDoor;
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
};

/// One request. Every operation is a method of [`InboundRequest`], in the file of the operation.
#[derive(Debug, Clone)]
pub(crate) struct InboundRequest {
    pub(crate) a2a: Arc<A2aDoor>,
    /// Authenticated caller.
    pub(crate) principal: Principal,
    /// Agent that the address names; `None` at the address of the hub itself.
    pub(crate) agent: Option<AgentId>,
    /// Protocol version of the request.
    pub(crate) version: A2aVersion,
    /// HTTP headers or gRPC metadata.
    pub(crate) headers: HeaderMap,
    /// Route of the connection: direct, forwarded by a proxy, or over a local socket.
    came: Ingress,
    /// Agent that [`InboundRequest::target`] chose.
    found: Arc<OnceLock<AgentId>>,
    /// Memory account of the answer under construction; `None` if the server does not account memory.
    pub(crate) room: Option<AnswerReservation>,
}

impl InboundRequest {
    /// Authenticates the request and finds the agent that the address names, if any. Fails if the caller may
    /// not see the agent.
    pub(crate) fn new(
        a2a: Arc<A2aDoor>,
        agent: Option<&str>,
        version: A2aVersion,
        head: &Parts,
    ) -> Result<Self, A2aError> {
        let principal = a2a.gatekeeper.admit_request(head);
        let principal = principal.map_err(fault_from)?;
        let agent = agent
            .map(|id| find_agent(&a2a, &principal, id))
            .transpose()?;
        Ok(Self {
            a2a,
            principal,
            agent,
            version,
            headers: head.headers.clone(),
            came: Ingress::of_request(head),
            found: Arc::default(),
            room: head
                .extensions
                .get::<RequestPeer>()
                .map(|peer| peer.account.room()),
        })
    }

    /// Returns the agent that a message is for. The order is: agent of the address, agent named by `tenant`,
    /// the hub's default agent, the only online agent that the caller may call.
    pub(crate) fn target(&self, tenant: Option<&str>) -> Result<AgentId, A2aError> {
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

    fn find_target(&self, tenant: Option<&str>) -> Result<AgentId, A2aError> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        if let Some(tenant) = tenant.filter(|tenant| !tenant.is_empty()) {
            return find_agent(&self.a2a, &self.principal, tenant);
        }
        if let Some(default) = &self.a2a.default_agent {
            return find_agent(&self.a2a, &self.principal, default.as_str());
        }
        let wanted = Wanted {
            online: true,
            ..Wanted::default()
        };
        let mut agents = self.a2a.hub.agents().discover(&self.principal, &wanted);
        match agents.len() {
            1 => Ok(agents.remove(0).id),
            0 => Err(A2aError::new(
                A2aErrorKind::AgentNotFound,
                "no agent is attached to this hub that you may call",
            )),
            _ => Err(A2aError::field(
                "tenant",
                "this address serves many agents: name one here, or use its own address from its card",
            )),
        }
    }
}

impl InboundRequest {
    /// Returns the extended card as JSON of the request's version. Both versions demand authentication for
    /// the extended card, so a request without credentials fails even if the hub trusts the connection.
    pub(crate) fn extended_card(&self, tenant: Option<&str>) -> Result<String, A2aError> {
        if !self.headers.contains_key(header::AUTHORIZATION) {
            return Err(A2aError::new(
                A2aErrorKind::Unauthenticated,
                "the extended card needs authentication: send Authorization: Bearer TOKEN",
            ));
        }
        let agent = self.target(tenant)?;
        let card = self
            .a2a
            .extended_card_json(&self.principal, &agent, self.version, &self.came);
        card.map_err(|failure| match failure.reason {
            // The agent exists; otherwise `target` would have failed.
            Reason::NotFound => A2aError::new(A2aErrorKind::NoExtendedCard, failure.text),
            _ => fault_from(failure),
        })
    }
}

/// Finds an agent that the caller may see. Agents of other owners, unknown ids and invalid ids give the same
/// error.
fn find_agent(a2a: &A2aDoor, principal: &Principal, id: &str) -> Result<AgentId, A2aError> {
    let parsed = AgentId::parse(id).ok();
    let found = parsed.filter(|id| a2a.hub.agents().find(principal, id.as_str()).is_ok());
    found.ok_or_else(|| {
        A2aError::new(
            A2aErrorKind::AgentNotFound,
            format!("agent '{id}' not found"),
        )
    })
}
