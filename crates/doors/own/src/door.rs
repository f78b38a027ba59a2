//! The routes of the API, and the state that their handlers share.

use std::sync::Arc;

use axum::{Extension, Router, middleware, routing::any};
use http::Uri;
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{ApiError, ApiState, count_refused, wrong_method},
    auth::Gatekeeper,
    files::Files,
    guard::HostRules,
};
use jackfield_model::{Failure, Reason};
use tokio_util::sync::CancellationToken;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    DOOR, agents, callbacks, calls,
    describe::{self, ApiDescription},
    events, files, health, invites, tasks, tickets, tokens,
};

/// State of the API.
#[derive(Debug, Clone)]
pub struct OwnState {
    /// The [`Hub`].
    pub hub: Hub,
    /// Authenticates callers.
    pub gatekeeper: Gatekeeper,
    /// Origins of web pages that may use the hub.
    pub hosts: Arc<HostRules>,
    /// Files under links.
    pub files: Arc<Files>,
    /// Version of the hub, for display.
    pub version: &'static str,
    /// Cancelled when the server begins to stop: the hub is no longer ready, and endless streams end.
    pub stop: CancellationToken,
}

impl ApiState for OwnState {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Builds the routes of the API and their [`OpenApi`] description.
pub fn router(state: OwnState) -> (Router, OpenApi) {
    let mut api = ApiDescription::openapi();
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
        .routes(routes!(tickets::create))
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
        .layer(Extension(invites::InviteTickets::default()))
        .with_state(state);
    (router, api)
}

async fn unknown(uri: Uri) -> ApiError {
    let text = format!("there is nothing at {}; see /openapi.json", uri.path());
    Failure::new(Reason::NotFound, text).into()
}
