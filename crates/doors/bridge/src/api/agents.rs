//! Agents from the platform's point of view: their status, the agents of a token, and disconnecting an agent.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use jackfield_core::agent::Closing;
use subtle::ConstantTimeEq as _;

use super::{
    describe::{
        BodyErrors, QueryErrors,
        bodies::{DisconnectBody, TokenHashBody},
    },
    problem::{RelayApiError, agent_id},
    read_body,
};
use crate::{
    DOOR,
    door::{Bridge, ConnectionRecord},
    relay::sentences::time,
    wire::{
        body::{AgentsByToken, DisconnectRequest},
        response::{AgentStatusResponse, DisconnectResponse, TokenAgent, TokenAgents},
    },
};

/// Returns the id in the path of a request.
pub(super) fn path_id(path: Result<Path<String>, PathRejection>) -> Result<String, RelayApiError> {
    // A path that cannot be decoded is no valid id either.
    path.map_or_else(|_| agent_id("").map(|id| id.to_string()), |Path(id)| Ok(id))
}

/// Shows the status of an agent. An unknown agent looks like one that never connected.
#[utoipa::path(
    get,
    path = "/api/agents/{id}/status",
    tag = "relay",
    security(("platform_secret" = [])),
    params(("id" = String, Path, description = "The agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")),
    responses((status = 200, description = "Its status", body = AgentStatusResponse<'static>), QueryErrors),
)]
pub(crate) async fn status(
    State(bridge): State<Arc<Bridge>>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Response, RelayApiError> {
    let id = agent_id(&path_id(path)?)?;
    let Ok(entry) = bridge.hub.agents().find(&bridge.platform, id.as_str()) else {
        return Ok(Json(AgentStatusResponse::default()).into_response());
    };
    let view = entry.view();
    let seen = bridge.connections.lock().get(&id).cloned();
    // The last bridge connection is outdated if the agent has connected through a different door since.
    let seen = seen.filter(|_| view.door == DOOR).unwrap_or_else(|| {
        let since = view.online.then_some(view.since);
        ConnectionRecord {
            connected_at: since,
            last_heartbeat: since,
            active_sessions: u64::try_from(view.open_calls).unwrap_or(u64::MAX),
            ..ConnectionRecord::default()
        }
    });
    let agent_type = match &seen.agent_type {
        said if !said.is_empty() => said,
        _ => view.profile.agent_type.as_deref().unwrap_or(&view.door),
    };
    let capabilities = if seen.capabilities.is_empty() {
        view.profile
            .skills
            .iter()
            .map(|skill| skill.id.as_str())
            .collect()
    } else {
        seen.capabilities.iter().map(String::as_str).collect()
    };
    let status = AgentStatusResponse {
        online: view.online,
        agent_type,
        capabilities,
        connected_at: &seen.connected_at.map(time).unwrap_or_default(),
        last_heartbeat: &seen.last_heartbeat.map(time).unwrap_or_default(),
        active_sessions: seen.active_sessions,
        user_id: if view.online { view.owner.as_str() } else { "" },
    };
    Ok(Json(status).into_response())
}

/// Closes an agent's connection as if its token had been revoked, so that the agent stays away.
#[utoipa::path(
    post,
    path = "/api/disconnect",
    tag = "relay",
    security(("platform_secret" = [])),
    request_body = DisconnectBody,
    responses((status = 200, description = "It is not connected now", body = DisconnectResponse), BodyErrors),
)]
pub(crate) async fn disconnect(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Json<DisconnectResponse>, RelayApiError> {
    let body = read_body(&bridge, request).await?;
    let body = DisconnectRequest::parse(&body, bridge.max_depth)?;
    let id = agent_id(body.agent_id.required()?)?;
    let entry = bridge.hub.agents().find(&bridge.platform, id.as_str()).ok();
    let link = entry.and_then(|entry| entry.link());
    if let Some(link) = &link {
        tracing::info!(agent = %id, "the platform disconnects an agent");
        link.close(Closing::Revoked);
    }
    Ok(Json(DisconnectResponse {
        success: true,
        was_online: link.is_some(),
    }))
}

/// Lists the agents connected with a token, given by the token's hash.
#[utoipa::path(
    post,
    path = "/api/agents-by-token",
    tag = "relay",
    security(("platform_secret" = [])),
    request_body = TokenHashBody,
    responses((status = 200, description = "The agents", body = TokenAgents<'static>), BodyErrors),
)]
pub(crate) async fn by_token(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, RelayApiError> {
    let body = read_body(&bridge, request).await?;
    let body = AgentsByToken::parse(&body, bridge.max_depth)?;
    let wanted = body.token_hash.required()?.to_ascii_lowercase();
    let uses_it = |attachment: &ConnectionRecord| {
        let hash = attachment.token_hash.as_deref().unwrap_or_default();
        bool::from(hash.as_bytes().ct_eq(wanted.as_bytes()))
    };
    let mut found: Vec<_> = {
        let attached = bridge.connections.lock();
        let found = attached
            .iter()
            .filter(|(_, attachment)| uses_it(attachment));
        found
            .map(|(id, attachment)| (id.clone(), attachment.agent_type.clone()))
            .collect()
    };
    found.retain(|(id, _)| {
        let entry = bridge.hub.agents().find(&bridge.platform, id.as_str());
        entry.is_ok_and(|entry| entry.link().is_some_and(|link| link.door() == DOOR))
    });
    found.sort();
    let agents = found
        .iter()
        .map(|(id, agent_type)| TokenAgent {
            agent_id: id.as_str(),
            agent_type,
        })
        .collect();
    Ok(Json(TokenAgents { agents }).into_response())
}
