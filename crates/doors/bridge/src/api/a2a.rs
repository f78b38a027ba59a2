//! `POST /api/a2a/call`: an agent calls a different agent through the platform. The answer is a stream like
//! that of a relay.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use jackfield_core::{hub, principal::Principal};
use jackfield_kit::trace;
use jackfield_model::{AgentId, Message, Reason, SessionId};
use uuid::Uuid;

use super::{
    describe::{AgentCallResponses, bodies::A2aBody},
    problem::{RelayApiError, agent_id},
    read_body,
};
use crate::{DOOR, door::Bridge, relay, wire::body::A2aCall};

/// Calls an agent on behalf of another agent.
#[utoipa::path(
    post,
    path = "/api/a2a/call",
    tag = "relay",
    security(("platform_secret" = [])),
    params(("Jackfield-Call" = Option<String>, Header, description = "The call for which this one is made", format = "uuid")),
    request_body = A2aBody,
    responses(AgentCallResponses),
)]
pub(crate) async fn call(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, RelayApiError> {
    let headers = request.headers().clone();
    let body = read_body(&bridge, request).await?;
    let body = A2aCall::parse(&body, bridge.max_depth)?;
    let caller = body.caller_agent_id.required()?;
    let target = body.target_agent_id.required()?;
    let text = body.task_description.required()?;
    let (caller, target) = (agent_id(caller)?, agent_id(target)?);
    let away = format!("Target agent is not connected: {target}");
    let principal = principal_of(&bridge, caller);
    let message = Message::text(text.as_ref());
    let mut request = hub::Request::new(principal, DOOR, target, message);
    let session = SessionId::parse(&format!("a2a-{}", Uuid::new_v4()));
    request.session = session.ok();
    trace::set_origin(&mut request, &headers)?;
    let asking = bridge
        .hub
        .calls()
        .open(request)
        .map_err(|failure| match failure.reason {
            Reason::NotFound | Reason::Offline => RelayApiError::offline(away),
            _ => failure.into(),
        })?;
    Ok(relay::respond_live(&bridge, asking))
}

/// Returns the [`Principal`] of the caller: the agent, for its owner, if the hub knows the agent, which need
/// not be online. Otherwise an agent known only to the platform, so that the limits for calls of agents
/// apply.
fn principal_of(bridge: &Bridge, caller: AgentId) -> Principal {
    match bridge.hub.agents().find(&bridge.platform, caller.as_str()) {
        Ok(entry) => Principal::person(entry.owner().clone()).as_agent(caller),
        Err(_) => bridge.platform.as_agent(caller),
    }
}
