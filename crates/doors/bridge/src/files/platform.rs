//! `GET /api/transfers/{id}/{transfer}/content`: an archive that an agent offered to the platform, through
//! the hub. The same archive as under `/v1`, for a client with the platform's secret in place of a token.

use std::sync::Arc;

use axum::{
    extract::{Path, State, rejection::PathRejection},
    response::Response,
};
use http::{HeaderMap, Method, StatusCode};
use jackfield_model::Failure;
use jackfield_wire::bridge::BridgeErrorCode;
use tokio::time::Instant;

use super::{
    FilesApi,
    content::{range, relayed_archive},
};
use crate::{
    api::{
        describe::QueryErrors,
        problem::{RelayApiError, agent_id},
    },
    door::Bridge,
    wire::response::RelayErrorBody,
};

/// Fetches the archive that the agent offered to the platform, through the hub.
///
/// `Range: bytes=N-` resumes a download.
#[utoipa::path(
    get,
    path = "/api/transfers/{id}/{transfer}/content",
    tag = "relay",
    security(("platform_secret" = [])),
    params(
        ("id" = String, Path, description = "The agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("transfer" = String, Path, description = "The transfer"),
        ("Range" = Option<String>, Header, description = "From where on, as `bytes=N-`; any other range is not looked at"),
    ),
    responses(
        (status = 200, description = "The archive", body = String, content_type = "application/zip"),
        (status = 206, description = "The archive from there on", body = String, content_type = "application/zip"),
        QueryErrors,
        (status = 403, description = "No transfer of the platform's, or none that the hub knows: auth_failed", body = RelayErrorBody<'static>),
        (status = 404, description = "The agent is not connected by this protocol: agent_offline", body = RelayErrorBody<'static>),
        (status = 416, description = "The archive ends before that: invalid_message", body = RelayErrorBody<'static>),
        (status = 429, description = "As many archives as are allowed go through the hub: agent_busy", body = RelayErrorBody<'static>),
        (status = 504, description = "The agent did not come: timeout", body = RelayErrorBody<'static>),
    ),
)]
pub(crate) async fn download(
    State(bridge): State<Arc<Bridge>>,
    path: Result<Path<(String, String)>, PathRejection>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, RelayApiError> {
    // A path that cannot be decoded is no valid id either.
    let (id, transfer) = path.map_or_else(|_| Default::default(), |Path(ids)| ids);
    let (id, book) = (agent_id(&id)?, &bridge.transfers);
    let found = book.of_caller(&bridge.platform, &id, &transfer, Instant::now());
    let transfer = found.map_err(as_(StatusCode::FORBIDDEN, BridgeErrorCode::AuthFailed))?;
    let past_the_end = as_(
        StatusCode::RANGE_NOT_SATISFIABLE,
        BridgeErrorCode::InvalidMessage,
    );
    let range = range(&headers, &transfer).map_err(past_the_end)?;
    let api = FilesApi(bridge.clone());
    Ok(relayed_archive(&api, &bridge.platform, &transfer, range, &method).await?)
}

fn as_(status: StatusCode, code: BridgeErrorCode) -> impl FnOnce(Failure) -> RelayApiError {
    move |failure| RelayApiError::new(status, code.name(), failure.text)
}
