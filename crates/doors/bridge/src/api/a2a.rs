//! `POST /api/a2a/call`: one agent calls another by way of the platform. The answer is a stream like a relay's.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use jackfield_core::{
    event::Message,
    failure::{Failure, Reason},
    hub,
    id::{AgentId, SessionId},
    principal::{Principal, Who},
};
use jackfield_wire::bridge::relay::A2aCall;
use uuid::Uuid;

use super::{
    body,
    problem::{Problem, agent_id},
};
use crate::{DOOR, bridge::Bridge, relay};

const AWAY: &str = "Target agent is not connected";

pub(super) async fn call(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let body = body::read(request).await?;
    let body = A2aCall::parse(&body, &bridge.wire_limits)?;
    let caller = body.caller_agent_id.required()?;
    let target = body.target_agent_id.required()?;
    let text = body.task_description.required()?;
    let (caller, target) = (agent_id(caller)?, agent_id(target)?);
    let principal = principal_of(&bridge, caller);
    // The core judges calls of agents; this is one too, even if nobody knows the caller.
    let entry = bridge.hub.find(&bridge.platform, target.as_str());
    if principal.who == Who::Platform
        && entry.is_ok_and(|entry| entry.link().is_some() && !entry.settings().allow_a2a)
    {
        let text = format!("agent {target} takes no calls from other agents");
        return Err(Failure::new(Reason::RateLimited, text).into());
    }
    let message = Message::text(text.as_ref());
    let mut request = hub::Request::new(principal, DOOR, target, message);
    let session = SessionId::parse(&format!("a2a-{}", Uuid::new_v4()));
    request.session = session.ok();
    relay::trace(&mut request, &headers)?;
    let asking = bridge
        .hub
        .call(request)
        .map_err(|failure| match failure.reason {
            Reason::NotFound | Reason::Offline => Problem::offline(AWAY),
            _ => failure.into(),
        })?;
    Ok(relay::respond_live(&bridge, asking))
}

/// Who calls: the agent, for its owner, if the hub knows it; it need not be online. Else the platform itself.
fn principal_of(bridge: &Bridge, caller: AgentId) -> Principal {
    match bridge.hub.find(&bridge.platform, caller.as_str()) {
        Ok(entry) => Principal::person(entry.owner().clone()).as_agent(caller),
        Err(_) => bridge.platform.clone(),
    }
}
