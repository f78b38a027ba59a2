//! Parts shared by all routes of the hub's own API, whichever door the routes belong to: strict extractors
//! for caller and request, errors as `{"error", "message"}`, and streams that end on revocation or shutdown.
//! JSON uses snake_case names. A caller without permission gets 401 and not 403, as in every door of this
//! hub.

mod actor;
mod error;
mod error_responses;
mod extract;
pub mod lifetime;

use axum::{extract::State, response::Response};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_model::{Failure, Reason};

pub use self::{
    actor::{ACTS_AS, Actor, ActsAsHeader},
    error::{ApiError, ApiErrorBody, invalid, status, store_failure},
    error_responses::{CallErrorResponses, ErrorResponses, ResponseMap, errors},
    extract::{
        ApiQuery, AuthenticatedCaller, JsonBody, PathId, PathIds, TextBody, UnreadBody, header,
    },
};
use crate::auth::Gatekeeper;

/// The state of a router: the handles needed by the shared extractors.
pub trait ApiState: Send + Sync {
    /// Returns the hub.
    fn hub(&self) -> &Hub;
    /// Returns the gatekeeper that authenticates requests.
    fn gatekeeper(&self) -> &Gatekeeper;
}

/// Answers a method that the path does not support. No failure of the core is about methods: the error is
/// `invalid`, the code is HTTP's own.
#[allow(clippy::unused_async, reason = "a handler is asynchronous")]
pub async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let text = format!("{} does not take {method}; see /openapi.json", uri.path());
    ApiError::from(Failure::new(Reason::Invalid, text)).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// Counts a response that refuses bad input; the state holds the hub and the name of the door.
#[allow(clippy::unused_async, reason = "a handler is asynchronous")]
pub async fn count_refused(
    State((hub, door)): State<(Hub, &'static str)>,
    response: Response,
) -> Response {
    if matches!(
        response.status(),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE
    ) {
        hub.metrics().refused(door);
    }
    response
}
