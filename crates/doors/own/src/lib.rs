//! The hub's own HTTP API: agents, calls and tasks, events, files, tokens, invites, health. JSON with
//! snake_case names; streams are SSE; errors are always `{"error", "message"}` with the code in docs/promises.md, Failures.
//!
//! [`router`] makes it; it can be merged with the routers of other doors, and its description with theirs, which
//! [`openapi_route`] then serves. Unlike other HTTP APIs, who may not do something gets 401 and not 403, as in every
//! door of this hub; only links to files, which no token can mend, get 403.

mod agents;
mod callbacks;
mod calls;
mod config;
mod describe;
mod events;
mod files;
mod health;
mod invites;
pub mod proof;
mod stream;
mod task_answer;
mod tasks;
mod tokens;
pub mod translate;

use axum::{Extension, Router, middleware, routing::any};
use http::Uri;
use jackfield_core::hub::Hub;
pub use jackfield_kit::api::{ErrorView, status};
use jackfield_kit::{
    api::{Api, Problem, count_refused, wrong_method},
    auth::Gatekeeper,
};
use jackfield_model::{Failure, Reason};
use tokio_util::sync::CancellationToken;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::describe::Description;
pub use crate::{config::Config, health::openapi_route};

/// The door's name, for people and metrics.
pub const DOOR: &str = "own";

/// What the API needs.
#[derive(Debug, Clone)]
pub struct OwnState {
    /// The hub.
    pub hub: Hub,
    /// Who decides who is calling.
    pub gatekeeper: Gatekeeper,
    /// The hub's version, for people.
    pub version: &'static str,
    /// Cancelled when the server begins to stop: the hub is not ready any more, and streams that would never end do.
    pub stop: CancellationToken,
}

impl Api for OwnState {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// The API's routes and their description.
pub fn router(state: OwnState) -> (Router, OpenApi) {
    let mut api = Description::openapi();
    api.info.version = state.version.to_owned();
    let (router, mut api) = OpenApiRouter::with_openapi(api)
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::change, agents::forget))
        .routes(routes!(calls::open, agents::open_calls))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::events))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::answer))
        .routes(routes!(tasks::say_more))
        .routes(routes!(callbacks::list))
        .routes(routes!(callbacks::resend))
        .routes(routes!(events::watch))
        .routes(routes!(files::fetch))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(tokens::whoami))
        .routes(routes!(invites::create))
        .routes(routes!(invites::redeem))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .split_for_parts();
    describe::sharpen_bodies(&mut api);
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .route("/v1", any(unknown))
        .route("/v1/", any(unknown))
        .route("/v1/{*rest}", any(unknown))
        .layer(middleware::map_response_with_state(
            (state.hub.clone(), DOOR),
            count_refused,
        ))
        .layer(Extension(invites::Tickets::default()))
        .with_state(state);
    (router, api)
}

async fn unknown(uri: Uri) -> Problem {
    let text = format!("there is nothing at {}; see /openapi.json", uri.path());
    Failure::new(Reason::NotFound, text).into()
}
