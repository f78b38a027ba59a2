//! `/v1/agents`: listing and showing agents, and settings for their owners.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::{
    entry,
    hub::{Hub, Wanted},
    principal::Principal,
};
use jackfield_kit::{
    api::{
        ApiError, ApiErrorBody, ApiQuery, AuthenticatedCaller, CallErrorResponses, ErrorResponses,
        PathId, UnreadBody,
    },
    similar::with_suggestions,
};
use jackfield_model::{AgentId, Failure};

use crate::{
    OwnState,
    translate::{
        AgentDetails, AgentList, agent_for,
        body::AgentBody,
        task::{OpenCallList, OpenCallView},
    },
};

/// Parses the [`AgentId`] of a path. An invalid id fails like an unknown id.
pub(crate) fn agent_id(text: &str) -> Result<AgentId, Failure> {
    AgentId::parse(text).map_err(|_| Failure::no_such_agent(text))
}

/// Lists the agents that you may see, sorted by id.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "agents",
    params(
        ("skill" = Option<Vec<String>>, Query, description = "Only those that have this skill; may be repeated"),
        ("online" = Option<bool>, Query, description = "Only those that are attached, or are not"),
    ),
    responses((status = 200, description = "The agents", body = AgentList), ErrorResponses),
)]
pub(crate) async fn list(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    mut params: ApiQuery,
) -> Result<Json<AgentList>, ApiError> {
    let skills = params.all("skill");
    let online: Option<bool> = params.one("online")?;
    params.finish()?;
    let wanted = Wanted {
        skills,
        online: online == Some(true),
    };
    let agents = state
        .hub
        .agents()
        .discover(&principal, &wanted)
        .into_iter()
        .filter(|view| online != Some(false) || !view.online)
        .map(AgentDetails::from)
        .collect();
    Ok(Json(AgentList { agents }))
}

/// Shows an agent. The owner and admins also see its shares and settings.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}",
    tag = "agents",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, description = "The agent", body = AgentDetails), ErrorResponses, (status = 404, description = "No such agent, or none that you may see: not_found", body = ApiErrorBody)),
)]
pub(crate) async fn show(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<Json<AgentDetails>, ApiError> {
    let view = agent_id(&id).and_then(|id| find(&state.hub, &principal, &id));
    let view = view.map_err(|failure| with_suggestions(failure, &id, &state.hub, &principal))?;
    Ok(Json(agent_for(&principal, view)))
}

/// Finds an agent that the principal may call or watch, as in the list.
fn find(hub: &Hub, principal: &Principal, id: &AgentId) -> Result<entry::AgentView, Failure> {
    hub.agents()
        .find(principal, id.as_str())
        .map(|entry| entry.view())
        .or_else(|failure| {
            let seen = hub.agents().discover(principal, &Wanted::default());
            seen.into_iter().find(|view| view.id == *id).ok_or(failure)
        })
}

/// Lists the open calls of your agent, oldest first: calls in work and calls waiting for the agent.
///
/// You see the caller and the start time, but not the content. `POST /v1/calls/{id}/cancel` cancels a call.
/// Only the agent's owner and admins may list the calls.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}/calls",
    tag = "agents",
    params(("id" = String, Path, description = "The agent or the team")),
    responses((status = 200, description = "The open calls", body = OpenCallList), ErrorResponses, (status = 404, description = "No such agent, or none that you may see: not_found", body = ApiErrorBody)),
)]
pub(crate) async fn open_calls(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<Json<OpenCallList>, ApiError> {
    let calls = agent_id(&id).and_then(|id| state.hub.calls().at_agent(&principal, &id));
    let calls = calls.map_err(|failure| with_suggestions(failure, &id, &state.hub, &principal))?;
    let calls = calls.iter().map(|call| OpenCallView::from(&**call));
    Ok(Json(OpenCallList {
        calls: calls.collect(),
    }))
}

/// Shares an agent, or changes its settings. Only the owner and admins may change an agent.
#[utoipa::path(
    patch,
    path = "/v1/agents/{id}",
    tag = "agents",
    params(("id" = String, Path, description = "The agent")),
    request_body = AgentBody,
    responses((status = 200, description = "The agent as it is now", body = AgentDetails), CallErrorResponses),
)]
pub(crate) async fn change(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<Json<AgentDetails>, ApiError> {
    let entry = state.hub.agents().find(&principal, &id);
    let entry = entry.map_err(|failure| with_suggestions(failure, &id, &state.hub, &principal))?;
    let body: AgentBody = body.read(&state).await?;
    let id = entry.id.clone();
    let settings = body
        .settings
        .map(|settings| settings.0.applied_to(entry.settings()));
    let (view, saved) = state
        .hub
        .agents()
        .change(&principal, &id, body.share, settings)?;
    saved.await?;
    tracing::info!(agent = %id, by = %principal.owner, "agent changed");
    Ok(Json(agent_for(&principal, view)))
}

/// Removes an agent and its ownership, and disconnects the agent. Only the owner and admins may remove an
/// agent.
#[utoipa::path(
    delete,
    path = "/v1/agents/{id}",
    tag = "agents",
    params(("id" = String, Path, description = "The agent")),
    responses(
        (status = 204, description = "It is forgotten"),
        ErrorResponses,
        (status = 404, description = "No such agent, or none that you may see: not_found", body = ApiErrorBody),
        (status = 409, description = "It is a team that is a member of another: conflict", body = ApiErrorBody),
    ),
)]
pub(crate) async fn forget(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    let forgotten = agent_id(&id).and_then(|id| state.hub.agents().forget(&principal, &id));
    let forgotten =
        forgotten.map_err(|failure| with_suggestions(failure, &id, &state.hub, &principal))?;
    forgotten.await?;
    tracing::info!(agent = %id, by = %principal.owner, "agent forgotten");
    Ok(StatusCode::NO_CONTENT)
}
