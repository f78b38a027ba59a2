//! Errors of the registry's HTTP API: `{"error": text}`, as the original has them.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jackfield_kit::api::status;
use jackfield_model::Failure;
use jackfield_peer::wire::PeerInputError;
use serde::Serialize;

/// An error in the original's shape.
#[derive(Debug)]
pub(super) struct RegistryError {
    pub(super) status: StatusCode,
    pub(super) text: String,
    /// Challenge that the peer could sign to be accepted.
    pub(super) challenge: Option<String>,
}

impl From<Failure> for RegistryError {
    fn from(failure: Failure) -> Self {
        Self {
            status: status(&failure.reason),
            text: failure.text.into_owned(),
            challenge: None,
        }
    }
}

impl From<PeerInputError> for RegistryError {
    fn from(fault: PeerInputError) -> Self {
        Self {
            status: StatusCode::from_u16(fault.code).unwrap_or(StatusCode::BAD_REQUEST),
            text: fault.to_string(),
            challenge: None,
        }
    }
}

impl IntoResponse for RegistryError {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body {
            error: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            challenge: Option<String>,
        }
        let body = Body {
            error: self.text,
            challenge: self.challenge,
        };
        // Texts always serialize.
        let body = serde_json::to_string(&body).unwrap_or_default();
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

/// Creates a response with a JSON body.
pub(super) fn json(status: StatusCode, body: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
