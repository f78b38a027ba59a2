//! What a caller is told when something goes wrong, in the shape of the hub's own API: `{"error", "message"}`.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use jackfield_core::failure::{Failure, Reason};
use serde_json::json;

/// A failure on its way out.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    failure: Failure,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self {
            status: status(&failure.reason),
            failure,
        }
    }
}

/// The HTTP code of a failure (DESIGN 8).
fn status(reason: &Reason) -> StatusCode {
    match reason {
        Reason::Invalid | Reason::Unsupported => StatusCode::BAD_REQUEST,
        Reason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::Unauthorized => StatusCode::UNAUTHORIZED,
        Reason::NotFound | Reason::SessionUnknown => StatusCode::NOT_FOUND,
        Reason::Offline | Reason::Stopping | Reason::Crashed | Reason::Agent(_) => {
            StatusCode::BAD_GATEWAY
        }
        Reason::Busy | Reason::RateLimited | Reason::Loop => StatusCode::TOO_MANY_REQUESTS,
        Reason::Conflict | Reason::Cancelled => StatusCode::CONFLICT,
        Reason::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::SlowReader | Reason::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"error": self.failure.reason.name(), "message": self.failure.text});
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer realm=\"jackfield\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        response
    }
}

/// No failure is about methods: the word is `invalid`, the code HTTP's own.
pub(super) async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let text = format!("{} does not take {method}; see /openapi.json", uri.path());
    Problem {
        status: StatusCode::METHOD_NOT_ALLOWED,
        failure: Failure::new(Reason::Invalid, text),
    }
}
