//! `GET /v1/events`: live events of watched agents. An observer may miss events and is notified of the loss;
//! observers never block agents or callers.

use axum::{extract::State, response::Response};
use jackfield_core::tap::TapFilter;
use jackfield_kit::api::{ApiError, ApiErrorBody, ApiQuery, AuthenticatedCaller, ErrorResponses};
use jackfield_model::AgentId;

use crate::{OwnState, describe::WatchFrame, stream};

/// Watches agents: your agents, agents that your token may watch, or all agents for admins.
///
/// The stream contains `online`, `offline`, `started`, `chunk`, `artifact`, `ask`, `ended`, and `frame` with
/// `raw`. `missed` reports lost events.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(
        ("agent" = Option<String>, Query, description = "Only this agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("team" = Option<String>, Query, description = "Only this team and the agents that are in it now, in teams below it too", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("raw" = Option<bool>, Query, description = "Also the frames on the agents' connections, as they are"),
    ),
    responses((status = 200, description = "What is seen", content((WatchFrame = "text/event-stream"))), ErrorResponses, (status = 404, description = "No such team, or none that you may see: not_found", body = ApiErrorBody)),
)]
pub(crate) async fn watch(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    mut params: ApiQuery,
) -> Result<Response, ApiError> {
    let agent = params.one::<AgentId>("agent")?;
    let team = params.one::<AgentId>("team")?;
    let raw = params.one("raw")?.unwrap_or(false);
    params.finish()?;
    let among = team.map(|team| state.hub.agents().members(&principal, team.as_str()));
    let filter = TapFilter {
        agent,
        among: among.transpose()?,
        raw,
    };
    let watching = state.hub.taps().watch(principal.clone(), filter);
    Ok(stream::watch(&state, &principal, watching))
}
