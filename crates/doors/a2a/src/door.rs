//! The routes of the door, and what their handlers share.

use std::sync::Arc;

use axum::{Router, extract::State, middleware, response::Response, routing::any};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::auth::Gatekeeper;

use crate::{
    DOOR,
    seed::{self, Problem},
};

/// What the handlers of this door share.
#[derive(Debug)]
pub struct A2a {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
}

impl A2a {
    /// The door of a hub.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper) -> Arc<Self> {
        Arc::new(Self { hub, gatekeeper })
    }
}

/// The routes of the door, all of them below `/a2a`.
pub fn router(a2a: Arc<A2a>) -> Router {
    seed::routes()
        .route("/a2a", any(unknown))
        .route("/a2a/", any(unknown))
        .route("/a2a/{*rest}", any(unknown))
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            a2a.clone(),
            count_refused,
        ))
        .with_state(a2a)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::nothing_here(uri.path())
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::wrong_method(&method, uri.path())
}

async fn count_refused(State(a2a): State<Arc<A2a>>, response: Response) -> Response {
    if matches!(
        response.status(),
        StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
    ) {
        a2a.hub.metrics().refused(DOOR);
    }
    response
}
