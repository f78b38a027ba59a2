//! Who acts on a team: the caller, or an agent of theirs that they name. A runtime that runs members of somebody else's
//! team speaks for them so; it may as whatever agent it could attach as.

use axum::extract::FromRequestParts;
use http::request::Parts;
use jackfield_core::{
    failure::{Failure, Reason},
    hub::Hub,
    id::AgentId,
    principal::Principal,
};
use jackfield_kit::api::{Caller, Problem, header, invalid};
use utoipa::IntoParams;

use crate::TeamDoor;

const ACTS_AS: &str = "Jackfield-Agent";

/// Who acts.
#[derive(Debug)]
pub(crate) struct Actor(pub(crate) Principal);

/// How one says it.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes the header")]
pub(crate) struct ActsAs {
    /// Acts as this agent, which is yours and which your token may register
    #[param(rename = "Jackfield-Agent")]
    agent: Option<String>,
}

impl FromRequestParts<TeamDoor> for Actor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &TeamDoor) -> Result<Self, Problem> {
        let Caller(principal) = Caller::from_request_parts(parts, door).await?;
        match header(&parts.headers, ACTS_AS)? {
            Some(agent) => Ok(Self(acting_as(&door.hub, &principal, agent)?)),
            None => Ok(Self(principal)),
        }
    }
}

fn acting_as(hub: &Hub, principal: &Principal, agent: &str) -> Result<Principal, Failure> {
    let agent =
        AgentId::parse(agent).map_err(|error| invalid(format!("header {ACTS_AS}: {error}")))?;
    let entry = hub.find(principal, agent.as_str());
    let is_theirs = entry.is_ok_and(|entry| *entry.owner() == principal.owner);
    if is_theirs && principal.may_register(&agent) {
        return Ok(principal.as_agent(agent));
    }
    let text = format!(
        "header {ACTS_AS}: {agent} is no agent of yours that this token may register; see `jackfield token create`"
    );
    Err(Failure::new(Reason::Unauthorized, text))
}
