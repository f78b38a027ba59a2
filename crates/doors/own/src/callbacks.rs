//! `/v1/callbacks` and `/v1/calls/{id}/resend`: undelivered callbacks about finished tasks.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_kit::api::{
    ApiError, ApiErrorBody, ApiQuery, AuthenticatedCaller, ErrorResponses, PathId,
};
use jackfield_model::{Failure, Reason, TaskId};

use crate::{OwnState, translate::callback::CallbackList};

/// Lists the undelivered callbacks of your tasks, newest first.
#[utoipa::path(
    get,
    path = "/v1/callbacks",
    tag = "callbacks",
    params(
        ("dead" = Option<bool>, Query, description = "Only those that were given up"),
        ("limit" = Option<usize>, Query, description = "At most so many", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "The callbacks", body = CallbackList), ErrorResponses),
)]
pub(crate) async fn list(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    mut params: ApiQuery,
) -> Result<Json<CallbackList>, ApiError> {
    let limit = params.limit()?;
    let dead_only = params.one("dead")?.unwrap_or(false);
    params.finish()?;
    let rows = state.hub.callbacks().list(&principal, dead_only, limit);
    let callbacks = rows.await?.into_iter().map(Into::into).collect();
    Ok(Json(CallbackList { callbacks }))
}

/// Sends the abandoned callbacks of a task again, as if the task had just ended.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/resend",
    tag = "callbacks",
    params(("id" = String, Path, description = "The task")),
    responses(
        (status = 204, description = "They are sent again"),
        ErrorResponses,
        (status = 404, description = "No such task of yours: not_found", body = ApiErrorBody),
        (status = 409, description = "None of its callbacks was given up: conflict", body = ApiErrorBody),
    ),
)]
pub(crate) async fn resend(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    let unknown = || {
        let text = "no such task of yours; see GET /v1/callbacks";
        Failure::new(Reason::NotFound, text)
    };
    let task = TaskId::parse(&id).ok_or_else(unknown)?;
    state.hub.callbacks().resend(&principal, task).await?;
    tracing::info!(%task, by = %principal.owner, "callbacks sent again");
    Ok(StatusCode::NO_CONTENT)
}
