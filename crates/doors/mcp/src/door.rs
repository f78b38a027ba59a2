//! The route of the door, and the state that its requests share.

use std::sync::Arc;

use axum::{Router, middleware};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{ApiState, count_refused, wrong_method},
    auth::Gatekeeper,
    files::Files,
};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    DOOR,
    running::RunningRequests,
    serve::{self, McpService},
};

/// State of the MCP door.
#[derive(Debug, Clone)]
pub struct McpState {
    /// The [`Hub`].
    pub hub: Hub,
    /// Authenticates callers.
    pub gatekeeper: Gatekeeper,
    /// Files under links.
    pub files: Arc<Files>,
    /// Version of the hub, for display.
    pub version: &'static str,
    /// Cancelled when the server begins to stop. Waiting requests end with a hint on how to continue.
    pub stop: CancellationToken,
}

/// State of the door's route.
#[derive(Clone)]
pub(crate) struct McpRoute {
    pub(crate) mcp: McpState,
    pub(crate) cancels: Arc<RunningRequests>,
    pub(crate) service: McpService,
}

impl ApiState for McpRoute {
    fn hub(&self) -> &Hub {
        &self.mcp.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.mcp.gatekeeper
    }
}

/// Builds the route of the door, and its [`OpenApi`] description.
pub fn router(mcp: McpState) -> (Router, OpenApi) {
    let door = McpRoute {
        service: serve::service(&mcp),
        cancels: Arc::default(),
        mcp,
    };
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(serve::post))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (door.mcp.hub.clone(), DOOR),
            count_refused,
        ))
        .with_state(door);
    (router, api)
}
