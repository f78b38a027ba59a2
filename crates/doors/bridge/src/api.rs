//! The relay's HTTP API, for the platform behind the hub. All paths below `/api` need the platform's secret.
//! A client without the secret learns nothing, not even which paths exist.
//!
//! Handlers are in one file per subject; the relay itself is in `relay.rs`. Errors are always `{"error",
//! "message"}`.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::any,
};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use jackfield_kit::body;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::{describe::RelayDescription, problem::RelayApiError};
use crate::{DOOR, door::Bridge, files::platform, relay, secret, wire::response::HealthResponse};

mod a2a;
mod agents;
mod cancel;
pub(crate) mod describe;
pub(crate) mod problem;
mod query;
mod rtc;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use self::query::RelayQuery;

/// Returns the routes of the relay's HTTP API, and their description.
pub fn router(bridge: Arc<Bridge>) -> (Router, OpenApi) {
    let (routes, description) = described().split_for_parts();
    let api = routes
        .route("/api", any(unknown))
        .route("/api/", any(unknown))
        .route("/api/{*rest}", any(unknown))
        .method_not_allowed_fallback(unknown)
        .layer(middleware::from_fn_with_state(bridge.clone(), admit))
        .with_state(bridge);
    let router = Router::new().route("/health", any(health)).merge(api);
    (router, description)
}

/// Returns the description alone.
pub fn description() -> OpenApi {
    described().into_openapi()
}

fn described() -> OpenApiRouter<Arc<Bridge>> {
    OpenApiRouter::with_openapi(RelayDescription::openapi())
        .routes(routes!(relay::open))
        .routes(routes!(relay::resume))
        .routes(routes!(agents::status))
        .routes(routes!(agents::disconnect))
        .routes(routes!(agents::by_token))
        .routes(routes!(rtc::exchange))
        .routes(routes!(platform::download))
        .routes(routes!(a2a::call))
        .routes(routes!(cancel::cancel))
        .routes(routes!(status::show))
}

/// Reads the body of a request.
pub(crate) async fn read_body(bridge: &Bridge, request: Request) -> Result<Bytes, RelayApiError> {
    let (max, stuck) = (bridge.limits.relay_body, bridge.hub.limits().write_stuck);
    let text = body::read(request.into_body(), max, stuck).await?;
    Ok(text)
}

async fn unknown() -> RelayApiError {
    RelayApiError::new(StatusCode::NOT_FOUND, "not_found", "Not found")
}

/// Reports that the hub is alive, to any client and for any method.
#[utoipa::path(
    get,
    path = "/health",
    tag = "relay",
    security(()),
    responses((status = 200, description = "It lives", body = HealthResponse)),
)]
async fn health(method: Method) -> Response {
    if method == Method::OPTIONS {
        return preflight();
    }
    Json(HealthResponse::default()).into_response()
}

/// Checks the platform's secret before all other checks.
async fn admit(State(bridge): State<Arc<Bridge>>, request: Request, next: Next) -> Response {
    if *request.method() == Method::OPTIONS {
        return preflight();
    }
    let shown = request.headers().get(secret::HEADER);
    if !shown.is_some_and(|shown| bridge.secrets.admit(shown.as_bytes())) {
        let text = "Invalid or missing X-Platform-Secret";
        return RelayApiError::new(StatusCode::UNAUTHORIZED, "auth_failed", text).into_response();
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

/// Answers a CORS preflight request. No origin is allowed, because the secret is not meant for browsers.
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
