//! File transfers for every caller, as part of the hub's own API: announcing an upload, signalling about a
//! transfer, and sending or fetching the archive through the hub when the parties find no direct connection.
//! The registry of transfers knows the owner of each [`Transfer`].

mod announce;
mod content;
mod exchange;
pub(crate) mod platform;
pub(crate) mod rules;
mod tickets;

use std::sync::Arc;

use axum::{Router, middleware};
use http::StatusCode;
use jackfield_core::{hub::Hub, principal::Principal};
use jackfield_kit::{
    api::{ApiError, ApiErrorBody, ApiState, count_refused, wrong_method},
    auth::Gatekeeper,
};
use jackfield_model::{AgentId, Failure};
use jackfield_transfer::hub::{Transfer, not_yours};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{DOOR, door::Bridge};

/// State of these routes.
#[derive(Debug, Clone)]
pub(crate) struct FilesApi(Arc<Bridge>);

impl ApiState for FilesApi {
    fn hub(&self) -> &Hub {
        &self.0.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.0.gatekeeper
    }
}

impl FilesApi {
    /// Returns a transfer of the caller with the agent in the path.
    fn transfer(
        &self,
        caller: &Principal,
        agent: &str,
        transfer: &str,
    ) -> Result<Arc<Transfer>, ApiError> {
        let agent = AgentId::parse(agent).map_err(|_| forbidden(not_yours()))?;
        let found = self
            .0
            .transfers
            .of_caller(caller, &agent, transfer, Instant::now());
        found.map_err(forbidden)
    }
}

/// Returns the payload of a signal: JSON within a JSON string, as in the published clients.
fn payload_from(said: &impl Serialize) -> Option<Box<RawValue>> {
    let text = serde_json::to_string(said).ok()?;
    to_raw_value(&text).ok()
}

/// Converts a failure into 403: the caller is authenticated but no party of the transfer, so a different
/// token would not help.
fn forbidden(failure: Failure) -> ApiError {
    ApiError::from(failure).with_status(StatusCode::FORBIDDEN)
}

#[derive(Debug, utoipa::OpenApi)]
#[openapi(components(schemas(ApiErrorBody)))]
struct FilesDescription;

/// Returns the routes for file transfers, and their description.
pub fn files_router(bridge: Arc<Bridge>) -> (Router, OpenApi) {
    let hub = bridge.hub.clone();
    let (router, api) = OpenApiRouter::with_openapi(FilesDescription::openapi())
        .routes(routes!(announce::announce))
        .routes(routes!(exchange::exchange))
        .routes(routes!(content::download, content::upload))
        .routes(routes!(tickets::receive, tickets::send))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (hub, DOOR),
            count_refused,
        ))
        .with_state(FilesApi(bridge));
    (router, api)
}
