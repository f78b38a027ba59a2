//! Endpoints for operators: liveness, readiness, metrics, and the description of the API.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use jackfield_core::{principal::Principal, store::TaskFilter};
use jackfield_kit::{
    api::{ApiError, ApiErrorBody, AuthenticatedCaller, ErrorResponses, wrong_method},
    auth::{Gatekeeper, Ingress, bearer},
};
use jackfield_model::{Failure, Reason};
use serde::Serialize;
use utoipa::{ToSchema, openapi::OpenApi};

use crate::{OwnState, describe};

/// Maximum time for a read and a write of the store. Probes give up soon after.
const STORE_ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Liveness of the hub.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// Readiness of the hub.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// Always `ready`.
    status: &'static str,
    /// Version of the hub.
    version: &'static str,
}

/// Reports that the hub is alive. Needs no token.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "health",
    security(()),
    responses((status = 200, description = "It lives", body = Health)),
)]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Reports whether the hub accepts calls: the hub is not stopping, and its store is readable and writable.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    responses(
        (status = 200, description = "It takes calls", body = Readiness),
        ErrorResponses,
        (status = 503, description = "It does not: stopping, internal", body = ApiErrorBody),
    ),
)]
pub(crate) async fn readyz(
    State(state): State<OwnState>,
    _caller: AuthenticatedCaller,
) -> Result<Json<Readiness>, ApiError> {
    match probe(&state).await {
        Ok(()) => Ok(Json(Readiness {
            status: "ready",
            version: state.version,
        })),
        Err(failure) => Err(ApiError::from(failure).with_status(StatusCode::SERVICE_UNAVAILABLE)),
    }
}

async fn probe(state: &OwnState) -> Result<(), Failure> {
    if state.hub.is_stopping() || state.stop.is_cancelled() {
        return Err(Failure::new(Reason::Stopping, "the hub is stopping"));
    }
    let filter = TaskFilter {
        limit: 1,
        ..TaskFilter::default()
    };
    let everyone = Principal::local();
    let tasks = state.hub.tasks();
    let reads_and_writes = async {
        tasks.list(&everyone, filter).await?;
        tasks.check_store().await
    };
    match tokio::time::timeout(STORE_ANSWERS_WITHIN, reads_and_writes).await {
        Ok(result) => result,
        Err(_) => Err(Failure::new(
            Reason::Internal,
            "the hub's store does not answer; look at its disk",
        )),
    }
}

/// Returns the metrics of the hub for Prometheus. Needs the scope `metrics` or `admin`.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "health",
    responses(
        (status = 200, description = "The metrics", body = String, content_type = "application/openmetrics-text"),
        ErrorResponses,
    ),
)]
pub(crate) async fn metrics(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
) -> Result<Response, ApiError> {
    if !principal.may_read_metrics() {
        let text = "this token may not read the metrics: it needs the scope metrics; see `jackfield token create`";
        return Err(Failure::new(Reason::Unauthorized, text).into());
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = state.hub.metrics().render();
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// State of the `/openapi.json` route.
#[derive(Debug, Clone)]
struct OpenApiState {
    gatekeeper: Gatekeeper,
    text: Bytes,
}

/// Describes the API.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "health",
    responses(
        (status = 200, description = "The description, as OpenAPI", body = serde_json::Value),
        ErrorResponses,
    ),
)]
async fn openapi(
    State(served): State<OpenApiState>,
    came: Ingress,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    served.gatekeeper.admit(bearer(&headers), &came)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], served.text).into_response())
}

/// Builds the route `/openapi.json` for a description, merged from several routers if needed.
pub fn openapi_route(gatekeeper: Gatekeeper, mut api: OpenApi) -> Router {
    #[derive(utoipa::OpenApi)]
    #[openapi(paths(openapi))]
    struct Itself;
    api.merge(<Itself as utoipa::OpenApi>::openapi());
    describe::sharpen_operations(&mut api);
    let text = api.to_json().expect("a description is plain JSON");
    Router::new()
        .route("/openapi.json", get(openapi))
        .method_not_allowed_fallback(wrong_method)
        .with_state(OpenApiState {
            gatekeeper,
            text: text.into(),
        })
}
