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
    router_at("/a2a", a2a)
}

/// The routes of the door below a prefix, which has no slash at its end. All that is below it is the door's, except below
/// nothing at all: then only the paths that it knows are.
pub fn router_at(prefix: &str, a2a: Arc<A2a>) -> Router {
    let mut routes = seed::routes(prefix);
    if !prefix.is_empty() {
        let known: Arc<str> = prefix.into();
        let unknown = any(async move |uri: Uri| Problem::nothing_here(uri.path(), &known));
        routes = routes
            .route(prefix, unknown.clone())
            .route(&format!("{prefix}/"), unknown.clone())
            .route(&format!("{prefix}/{{*rest}}"), unknown);
    }
    routes
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            a2a.clone(),
            count_refused,
        ))
        .with_state(a2a)
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
