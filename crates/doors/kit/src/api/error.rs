//! Error responses of the API: always `{"error", "message"}` with the HTTP code of docs/promises.md,
//! Failures. [`status`] is the only exhaustive match over failures for these routes.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jackfield_core::store::StoreError;
use jackfield_model::{Cause, Failure, Reason};
use serde::Serialize;
use utoipa::ToSchema;

/// Returns the HTTP code for a failure.
pub fn status(reason: &Reason) -> StatusCode {
    match reason {
        Reason::Invalid | Reason::Unsupported => StatusCode::BAD_REQUEST,
        Reason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::Unauthorized => StatusCode::UNAUTHORIZED,
        Reason::NotFound | Reason::SessionUnknown => StatusCode::NOT_FOUND,
        Reason::Offline | Reason::Stopping | Reason::Crashed | Reason::Agent(_) => {
            StatusCode::BAD_GATEWAY
        }
        Reason::Busy | Reason::RateLimited | Reason::Loop => StatusCode::TOO_MANY_REQUESTS,
        // A cancelled call is answered with its state; no other request fails with `Cancelled`.
        Reason::Conflict | Reason::Cancelled => StatusCode::CONFLICT,
        Reason::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::SlowReader | Reason::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The body of every error response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ApiErrorBody {
    /// The failure, for programs: one of the hub's names, or the agent's own code.
    pub error: String,
    /// A narrower cause of the failure, for programs: `unanswered` if a question or an approval was
    /// not answered in time, `other_address` if the message names the address to use instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub cause: Option<&'static str>,
    /// The wrong field of the request, for programs: a path such as `auth.bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub field: Option<String>,
    /// What happened and what to do about it, for people.
    pub message: String,
}

impl From<&Failure> for ApiErrorBody {
    fn from(failure: &Failure) -> Self {
        Self {
            error: failure.reason.name().to_owned(),
            cause: failure.cause.map(Cause::name),
            field: None,
            message: failure.text.to_string(),
        }
    }
}

/// A [`Failure`] as an HTTP response.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    body: ApiErrorBody,
}

impl ApiError {
    /// Names the wrong field of the request.
    pub fn with_field(mut self, field: Option<String>) -> Self {
        self.body.field = field;
        self
    }

    /// Replaces the HTTP code, where HTTP has a more precise one.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self {
            status: status(&failure.reason),
            body: ApiErrorBody::from(&failure),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        store_failure(&error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"jackfield\""),
            );
        }
        response
    }
}

/// Creates a failure for a malformed request; the text names the field.
pub fn invalid(text: impl Into<String>) -> Failure {
    Failure::new(Reason::Invalid, text.into())
}

/// Creates a failure for an error of the store; the operator finds the details in the log.
pub fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "the store failed");
    Failure::new(
        Reason::Internal,
        "the hub's store failed; the hub's log says why",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_unknown_learns_how_to_prove_it() {
        let failure = Failure::new(Reason::Unauthorized, "no");
        let response = ApiError::from(failure).into_response();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert!(
            response.headers()[header::WWW_AUTHENTICATE]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
}
