//! `GET /v1/events`: watches, live, what the agents that one may watch say and do. An observer may miss some of it and
//! is told so; it never blocks anybody.

use axum::{extract::State, response::Response};
use jackfield_core::{id::AgentId, tap::TapFilter};
use jackfield_kit::api::{Caller, Params, Problem, Refused};

use crate::{OwnState, describe::WatchFrame, stream};

/// Watches agents: your own, those your token may watch, all for admins.
///
/// The stream says `online`, `offline`, `started`, `chunk`, `artifact`, `ask`, `ended`, with `raw` also `frame`, and
/// `missed` when it lagged.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(
        ("agent" = Option<String>, Query, description = "Only this agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("raw" = Option<bool>, Query, description = "Also the frames on the agents' connections, as they are"),
    ),
    responses((status = 200, description = "What is seen", content((WatchFrame = "text/event-stream"))), Refused),
)]
pub(crate) async fn watch(
    State(state): State<OwnState>,
    Caller(principal): Caller,
    mut params: Params,
) -> Result<Response, Problem> {
    let filter = TapFilter {
        agent: params.one::<AgentId>("agent")?,
        raw: params.one("raw")?.unwrap_or(false),
    };
    params.finish()?;
    let watching = state.hub.watch(principal.clone(), filter);
    Ok(stream::watch(&state, &principal, watching))
}
