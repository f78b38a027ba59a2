//! The routes of the door, and the state that their handlers share.

use axum::{Router, middleware};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{ApiState, count_refused, wrong_method},
    auth::Gatekeeper,
    tasks::Tasks,
};
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{DOOR, Teams, events, publish, steer, tasks, teams, viewer};

/// State shared by all routes of the team door.
#[derive(Debug, Clone)]
pub struct TeamDoor {
    /// Teams of the hub, with access to the [`Hub`].
    pub teams: Teams,
    /// Authenticates callers.
    pub gatekeeper: Gatekeeper,
    /// Spawns the door's WebSocket tasks and signals a hub shutdown to them.
    pub tasks: Tasks,
}

impl ApiState for TeamDoor {
    fn hub(&self) -> &Hub {
        self.teams.hub()
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Builds the routes of the door, and the [`OpenApi`] description of the routes under `/v1`.
pub fn router(door: TeamDoor) -> (Router, OpenApi) {
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(teams::list, teams::create))
        .routes(routes!(teams::show, teams::change, teams::remove))
        .routes(routes!(tasks::list, tasks::add))
        .routes(routes!(tasks::change))
        .routes(routes!(events::events, publish::publish))
        .routes(routes!(steer::say))
        .routes(routes!(steer::stop))
        .routes(routes!(steer::decide))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (door.teams.hub().clone(), DOOR),
            count_refused,
        ))
        .with_state(door.clone());
    (router.merge(viewer::router(door)), api)
}
