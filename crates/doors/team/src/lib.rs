//! The team door: teams and their boards over HTTP, and one event stream for a whole team, flattened over a WebSocket as
//! the protocol's web client reads it, or as envelopes over SSE. See `docs/protocols/team.md`.

mod config;
mod events;
mod matrix;
mod publish;
mod publisher;
mod steer;
mod tasks;
pub mod team;
mod teams;
mod translate;
mod view;
mod viewer;
pub mod wire;

pub use self::{config::Config, matrix::MATRIX};

use axum::{Router, middleware};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{Api, count_refused, wrong_method},
    auth::Gatekeeper,
    tasks::Tasks,
};
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use self::team::teams::Teams;

/// The door's name, for people and metrics.
pub const DOOR: &str = "team";

/// What the door needs.
#[derive(Debug, Clone)]
pub struct TeamDoor {
    /// The teams, and their hub.
    pub teams: Teams,
    /// Who decides who is calling.
    pub gatekeeper: Gatekeeper,
    /// Where its sockets run, and what tells them that the hub stops.
    pub tasks: Tasks,
}

impl Api for TeamDoor {
    fn hub(&self) -> &Hub {
        self.teams.hub()
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// The door's routes, and the description of those that are part of the hub's own API.
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
