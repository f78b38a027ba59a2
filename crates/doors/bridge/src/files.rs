//! Transfers of files for every caller, as part of the hub's own API: announce an upload, signal about a transfer, and,
//! where the parties find no direct way, fetch or send the archive through the hub. Whose a transfer is, is in the core's book.

mod announce;
mod content;
mod exchange;
mod meet;
mod pipe;
pub(crate) mod platform;
pub(crate) mod relays;
pub(crate) mod rules;

use std::sync::Arc;

use axum::{Router, middleware};
use http::StatusCode;
use jackfield_core::{
    hub::Hub,
    principal::Principal,
    transfers::{Transfer, not_yours},
};
use jackfield_kit::{
    api::{Api, ErrorView, Problem, count_refused, wrong_method},
    auth::Gatekeeper,
};
use jackfield_model::{AgentId, Failure};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{DOOR, bridge::Bridge};

/// The state of these routes.
#[derive(Debug, Clone)]
pub(crate) struct FilesApi(Arc<Bridge>);

impl Api for FilesApi {
    fn hub(&self) -> &Hub {
        &self.0.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.0.gatekeeper
    }
}

impl FilesApi {
    /// A transfer of the caller's with the agent in the path.
    fn transfer(
        &self,
        caller: &Principal,
        agent: &str,
        transfer: &str,
    ) -> Result<Arc<Transfer>, Problem> {
        let agent = AgentId::parse(agent).map_err(|_| forbidden(not_yours()))?;
        let book = self.0.hub.transfers();
        let found = book.of_caller(caller, &agent, transfer, Instant::now());
        found.map_err(forbidden)
    }
}

/// The payload of a signal: JSON within a JSON string, as the published clients have it.
fn payload_from(said: &impl Serialize) -> Option<Box<RawValue>> {
    let text = serde_json::to_string(said).ok()?;
    to_raw_value(&text).ok()
}

/// Who proved who they are and is not a party: another token of theirs would not help.
fn forbidden(failure: Failure) -> Problem {
    Problem::from(failure).with_status(StatusCode::FORBIDDEN)
}

#[derive(Debug, utoipa::OpenApi)]
#[openapi(components(schemas(ErrorView)))]
struct Description;

/// The routes of transfers of files, and their description.
pub fn files_router(bridge: Arc<Bridge>) -> (Router, OpenApi) {
    let hub = bridge.hub.clone();
    let (router, api) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(announce::announce))
        .routes(routes!(exchange::exchange))
        .routes(routes!(content::download, content::upload))
        .routes(routes!(meet::receive, meet::send))
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
