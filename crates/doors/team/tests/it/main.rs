//! The team door as viewers meet it: one program for all tests over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use jackfield_kit::{
    files::Files,
    testing::{TestHub, TestSettings},
};
use jackfield_own::openapi_route;
use jackfield_team::{TeamLimits, Teams};

mod http;
mod ws;

/// Starts a hub with the team door beside the hub's own API.
async fn start(settings: TestSettings, team_limits: TeamLimits) -> (TestHub, Teams) {
    let (store, limits) = (settings.store.clone(), settings.limits.clone());
    let files = Arc::new(Files::new(&limits));
    let teams = Teams::open_with(store, limits, team_limits, files);
    let teams = teams.await.unwrap();
    let mut builder = settings.prepare_with(teams.hub().clone()).await;
    builder.open(jackfield_own::Config::default()).await;
    let door = jackfield_team::Config {
        teams: teams.clone(),
        declared: Vec::new(),
    };
    builder.open(door).await;
    let described = openapi_route(builder.context.gatekeeper.clone(), builder.api.clone());
    builder.add_routes(described);
    (builder.start(), teams)
}
