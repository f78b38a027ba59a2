//! What a client of the registry is told when something goes wrong: `{"error": text}`, as by the original.

use crate::wire::Fault;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jackfield_core::failure::Failure;
use jackfield_kit::api::status;

use crate::translate::object;

/// A refusal, in the original's shape.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) text: String,
    /// What the peer could sign to be believed.
    pub(super) challenge: Option<String>,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self {
            status: status(&failure.reason),
            text: failure.text.into_owned(),
            challenge: None,
        }
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self {
            status: StatusCode::from_u16(fault.code).unwrap_or(StatusCode::BAD_REQUEST),
            text: fault.to_string(),
            challenge: None,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = object(|object| {
            object
                .text("error", &*self.text)
                .maybe_text("challenge", self.challenge.as_deref());
        });
        let mut response = json(self.status, body);
        if self.status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static("Bearer realm=\"jackfield\"");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

/// A response whose body is JSON.
pub(super) fn json(status: StatusCode, body: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
