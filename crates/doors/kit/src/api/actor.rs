//! The acting principal of a request: the caller, or an agent of the caller named in a header. A program that
//! runs agents uses the header to act for them. The program may act as any agent that its token may register.

use axum::extract::FromRequestParts;
use http::request::Parts;
use jackfield_core::{hub::Hub, principal::Principal};
use jackfield_model::{AgentId, Failure, Reason};
use utoipa::IntoParams;

use super::{ApiError, ApiState, AuthenticatedCaller, header, invalid};

/// Header that names the acting agent.
pub const ACTS_AS: &str = "Jackfield-Agent";

/// Extractor for the acting principal.
#[derive(Debug)]
pub struct Actor(pub Principal);

/// Description of the header [`ACTS_AS`] for the API documentation.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes the header")]
pub struct ActsAsHeader {
    /// Acts as this agent, which is yours and which your token may register
    #[param(rename = "Jackfield-Agent")]
    agent: Option<String>,
}

impl<S: ApiState> FromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let AuthenticatedCaller(principal) =
            AuthenticatedCaller::from_request_parts(parts, state).await?;
        match header(&parts.headers, ACTS_AS)? {
            Some(agent) => Ok(Self(acting_as(state.hub(), &principal, agent)?)),
            None => Ok(Self(principal)),
        }
    }
}

fn acting_as(hub: &Hub, principal: &Principal, agent: &str) -> Result<Principal, Failure> {
    let agent =
        AgentId::parse(agent).map_err(|error| invalid(format!("header {ACTS_AS}: {error}")))?;
    let entry = hub.agents().find(principal, agent.as_str());
    let is_theirs = entry.is_ok_and(|entry| *entry.owner() == principal.owner);
    if is_theirs && principal.may_register(&agent) {
        return Ok(principal.as_agent(agent));
    }
    let text = format!(
        "header {ACTS_AS}: {agent} is no agent of yours that this token may register; see `jackfield token create`"
    );
    Err(Failure::new(Reason::Unauthorized, text))
}
