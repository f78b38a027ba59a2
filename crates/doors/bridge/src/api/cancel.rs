//! `POST /api/cancel`: the agent is told to stop, and the reader of the relay gets the end. Real agents send
//! no frame after a cancel, so the hub ends the relay itself.
//!
//! A cancel that matches no open request of a connected agent succeeds, as in the original: callers cancel
//! what may have ended meanwhile, and rely on it.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use jackfield_core::call::Call;
use jackfield_model::{AgentId, RequestId, SessionId};
use uuid::Uuid;

use super::{
    describe::{BodyErrors, bodies::CancelBody},
    problem::{RelayApiError, agent_id, peer_id},
    read_body,
};
use crate::{
    door::Bridge,
    wire::{
        body::CancelRequest,
        response::{CancelResponse, RelayErrorBody},
    },
};

/// Cancels a request, or all requests of a session. The agent is told at once, and streams end.
#[utoipa::path(
    post,
    path = "/api/cancel",
    tag = "relay",
    security(("platform_secret" = [])),
    request_body = CancelBody,
    responses(
        (status = 200, description = "It is cancelled, or nothing that matches is open", body = CancelResponse<'static>),
        BodyErrors,
        (status = 404, description = "The agent is not connected: agent_offline", body = RelayErrorBody<'static>),
    ),
)]
pub(crate) async fn cancel(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, RelayApiError> {
    let body = read_body(&bridge, request).await?;
    let body = CancelRequest::parse(&body, bridge.max_depth)?;
    let agent = agent_id(body.agent_id.required()?)?;
    let wanted = wanted(&body);
    let calls = match &wanted {
        Ok((session, request)) => find(&bridge, &agent, session, request.as_ref()),
        Err(_) => Vec::new(),
    };
    // As for a relay, an offline agent is reported before missing fields.
    let entry = bridge
        .hub
        .agents()
        .find(&bridge.platform, agent.as_str())
        .ok();
    if calls.is_empty() && entry.is_none_or(|entry| entry.link().is_none()) {
        return Err(RelayApiError::offline("Agent is not connected"));
    }
    let (session, request) = wanted?;
    let oldest = calls.first().map(|(request, _)| request.clone());
    // Last one first, so that no queued call of a session starts because its predecessor was cancelled.
    for (_, call) in calls.iter().rev() {
        // A call that has ended meanwhile counts as cancelled.
        bridge.hub.calls().cancel(&bridge.platform, call.id).ok();
    }
    let request_id = match request.or(oldest) {
        Some(request) => request.to_string(),
        None => Uuid::new_v4().to_string(),
    };
    let answer = CancelResponse {
        success: true,
        session_id: session.as_str(),
        request_id: &request_id,
    };
    Ok(Json(answer).into_response())
}

/// Returns the target of the cancel: one request, or all of a session.
fn wanted(body: &CancelRequest<'_>) -> Result<(SessionId, Option<RequestId>), RelayApiError> {
    let session = body.session_id.required()?;
    let session = peer_id("session_id", session, SessionId::parse)?;
    let request = body.request_id.optional()?;
    let request = request.map(|request| peer_id("request_id", request, RequestId::parse));
    Ok((session, request.transpose()?))
}

fn find(
    bridge: &Bridge,
    agent: &AgentId,
    session: &SessionId,
    request: Option<&RequestId>,
) -> Vec<(RequestId, Arc<Call>)> {
    let mut calls = bridge.requests.of(agent);
    // Calls resumed after a restart are known by the id that the agent sees.
    if let Some(request) = request
        && calls.iter().all(|(known, _)| known != request)
    {
        let entry = bridge
            .hub
            .agents()
            .find(&bridge.platform, agent.as_str())
            .ok();
        let call = entry.and_then(|entry| entry.open_call(request.as_str()));
        let is_ours = |call: &Arc<Call>| call.principal.key() == bridge.platform.key();
        calls.extend(call.filter(is_ours).map(|call| (request.clone(), call)));
    }
    calls.retain(|(known, call)| {
        call.session == *session && request.is_none_or(|request| request == known)
    });
    calls
}
