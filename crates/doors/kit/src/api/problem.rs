//! What a caller of an API is told when something goes wrong: always `{"error", "message"}` and the HTTP code in
//! docs/promises.md, Failures. The one exhaustive match of these routes is [`status`].

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jackfield_core::store::StoreError;
use jackfield_model::{Cause, Failure, Reason};
use serde::Serialize;
use utoipa::ToSchema;

/// The HTTP code of a failure.
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
        // A call that somebody cancelled is answered with its state; nothing else fails like this.
        Reason::Conflict | Reason::Cancelled => StatusCode::CONFLICT,
        Reason::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::SlowReader | Reason::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The body of every answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorView {
    /// The failure, for programs: one of the hub's names, or the agent's own code.
    pub error: String,
    /// A narrower cause of the failure, for programs: `unanswered` if a question or an approval was not answered in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub cause: Option<&'static str>,
    /// What happened and what to do about it, for people.
    pub message: String,
}

impl From<&Failure> for ErrorView {
    fn from(failure: &Failure) -> Self {
        Self {
            error: failure.reason.name().to_owned(),
            cause: failure.cause.map(Cause::name),
            message: failure.text.to_string(),
        }
    }
}

/// A failure on its way out as an HTTP response.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    body: ErrorView,
}

impl Problem {
    /// The same failure under another code, where HTTP has a more precise one.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self {
            status: status(&failure.reason),
            body: ErrorView::from(&failure),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        store_failure(&error).into()
    }
}

impl IntoResponse for Problem {
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

/// The request is malformed; the text names the field.
pub fn invalid(text: impl Into<String>) -> Failure {
    Failure::new(Reason::Invalid, text.into())
}

/// The store failed; the operator finds the details in the log.
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
        let response = Problem::from(failure).into_response();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert!(
            response.headers()[header::WWW_AUTHENTICATE]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
}
