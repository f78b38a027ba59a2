//! The routes of the door, and the state that its connections share.

use std::sync::Arc;

use axum::{Router, middleware, routing::get};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{ApiState, count_refused, wrong_method},
    auth::Gatekeeper,
    files::Files,
    tasks::Tasks,
};

use crate::{DOOR, serve};

/// State of the ACP door.
#[derive(Debug, Clone)]
pub(crate) struct AcpDoor {
    /// The [`Hub`].
    pub(crate) hub: Hub,
    /// Authenticates callers.
    pub(crate) gatekeeper: Gatekeeper,
    /// Files under links.
    pub(crate) files: Arc<Files>,
    /// Tasks of the connections.
    pub(crate) tasks: Tasks,
    /// Version of the hub, for display.
    pub(crate) version: &'static str,
}

impl ApiState for AcpDoor {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Builds the routes of the door.
pub(crate) fn router(door: AcpDoor) -> Router {
    let refused = (door.hub.clone(), DOOR);
    Router::new()
        .route("/acp/{agent}", get(serve::open))
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(refused, count_refused))
        .with_state(door)
}
