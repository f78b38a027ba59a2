//! The relay's HTTP API, for the platform behind the hub (DESIGN 6, row "bridge"). Everything below `/api` needs the
//! platform's secret, and who has none learns nothing: not even which paths exist.
//!
//! Handlers are one file per subject; the relay itself is in `relay.rs`. Errors are always `{"error", "message"}`.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use http::{HeaderValue, Method, StatusCode, header};
use jackfield_wire::bridge::relay::response::Health;

use self::problem::Problem;
use crate::{DOOR, bridge::Bridge, relay, secret};

mod a2a;
mod agents;
pub(crate) mod body;
mod cancel;
pub(crate) mod problem;
mod query;
mod rtc;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use self::query::Query;

/// The routes of the relay's HTTP API.
pub fn router(bridge: Arc<Bridge>) -> Router {
    let api = Router::new()
        .route("/api/relay", post(relay::open))
        .route("/api/relay/events", get(relay::resume))
        .route("/api/agents/{id}/status", get(agents::status))
        .route("/api/disconnect", post(agents::disconnect))
        .route("/api/agents-by-token", post(agents::by_token))
        .route("/api/rtc-signal/{id}", post(rtc::exchange))
        .route("/api/a2a/call", post(a2a::call))
        .route("/api/cancel", post(cancel::cancel))
        .route("/api/task-status", get(status::show))
        .route("/api", any(unknown))
        .route("/api/", any(unknown))
        .route("/api/{*rest}", any(unknown))
        .method_not_allowed_fallback(unknown)
        .layer(middleware::from_fn_with_state(bridge.clone(), admit))
        .with_state(bridge);
    Router::new().route("/health", any(health)).merge(api)
}

async fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "Not found")
}

async fn health(method: Method) -> Response {
    if method == Method::OPTIONS {
        return preflight();
    }
    Json(Health::default()).into_response()
}

/// Lets in who shows the secret, before anything else is judged.
async fn admit(State(bridge): State<Arc<Bridge>>, request: Request, next: Next) -> Response {
    if *request.method() == Method::OPTIONS {
        return preflight();
    }
    let shown = request.headers().get(secret::HEADER);
    if !shown.is_some_and(|shown| bridge.secrets.admit(shown.as_bytes())) {
        let text = "Invalid or missing X-Platform-Secret";
        return Problem::new(StatusCode::UNAUTHORIZED, "auth_failed", text).into_response();
    }
    let response = next.run(request).await;
    if matches!(
        response.status(),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE
    ) {
        bridge.hub.metrics().refused(DOOR);
    }
    response
}

/// What browsers ask before they ask. No origin is allowed here: the secret is not for browsers.
fn preflight() -> Response {
    let mut response = Response::default();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Content-Type, X-Platform-Secret",
        ),
        (header::VARY, "Origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
