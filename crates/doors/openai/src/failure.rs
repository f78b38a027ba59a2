//! Errors of the protocol: `{"error": {"message", "type", "param", "code"}}`. [`kind`] is the door's exhaustive match
//! over all reasons.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use jackfield_kit::{api, sse::SseFrame};
use jackfield_model::{Failure, Reason};
use jackfield_wire::read::FieldError;
use serde::Serialize;
use utoipa::ToSchema;

/// Header by which the official clients learn whether to repeat a request. Without it they repeat every request
/// that failed with a status of 500 or more, and the agent would get the message again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Type and code of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorKind {
    pub(crate) kind: &'static str,
    /// `None` for the name of the reason, or the agent's own code.
    code: Option<&'static str>,
    /// Whether the agent has not had the message, so that a client may repeat the request.
    may_repeat: bool,
}

/// Returns how the protocol names a reason. Codes that the protocol does not have are the hub's own names.
pub(crate) fn kind(reason: &Reason) -> ErrorKind {
    let (kind, code, may_repeat) = match reason {
        Reason::Invalid | Reason::Unsupported | Reason::TooLarge | Reason::Conflict => {
            ("invalid_request_error", None, false)
        }
        Reason::Unauthorized => ("invalid_request_error", Some("invalid_api_key"), false),
        Reason::NotFound => ("invalid_request_error", Some("model_not_found"), false),
        Reason::SessionUnknown => ("invalid_request_error", Some("not_found"), false),
        Reason::Busy | Reason::RateLimited => ("rate_limit_error", None, true),
        Reason::Loop => ("rate_limit_error", None, false),
        Reason::Offline
        | Reason::Stopping
        | Reason::Timeout
        | Reason::Cancelled
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => ("server_error", None, false),
    };
    ErrorKind {
        kind,
        code,
        may_repeat,
    }
}

/// Returns the code of a failure in errors of the protocol.
pub(crate) fn code(reason: &Reason) -> String {
    let code = kind(reason).code;
    code.map_or_else(|| reason.name().to_owned(), str::to_owned)
}

/// The content of an error.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    pub(crate) message: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Path of the wrong field of the request.
    pub(crate) param: Option<String>,
    pub(crate) code: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorObject<'a> {
    error: &'a ErrorBody,
}

/// An error of the protocol, as an HTTP response or the last frame of a stream.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    status: StatusCode,
    pub(crate) body: ErrorBody,
    may_repeat: bool,
}

impl OpenAiError {
    /// Creates an error about a field of the request.
    pub(crate) fn field(reason: Reason, param: &str, text: impl Into<String>) -> Self {
        let failure = Failure::new(reason, text.into());
        Self::from(failure).with_param(param)
    }

    /// Creates the error for a path or a method that the hub does not have.
    pub(crate) fn nothing_here(status: StatusCode, text: String) -> Self {
        let failure = Failure::new(Reason::Unsupported, text);
        let mut error = Self::from(failure);
        error.status = status;
        "unknown_url".clone_into(&mut error.body.code);
        error
    }

    /// Creates the error for a query that cannot be read.
    pub(crate) fn malformed_query() -> Self {
        api::invalid("the query is malformed; write it as NAME=VALUE&NAME=VALUE").into()
    }

    /// Names the wrong field.
    pub(crate) fn with_param(mut self, param: &str) -> Self {
        self.body.param = Some(param.to_owned());
        self
    }

    /// Replaces the code.
    pub(crate) fn with_code(mut self, code: &str) -> Self {
        code.clone_into(&mut self.body.code);
        self
    }

    /// Replaces the HTTP status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl From<Failure> for OpenAiError {
    fn from(failure: Failure) -> Self {
        let ErrorKind {
            kind, may_repeat, ..
        } = kind(&failure.reason);
        Self {
            status: api::status(&failure.reason),
            body: ErrorBody {
                code: code(&failure.reason),
                message: failure.text.into_owned(),
                kind,
                param: None,
            },
            may_repeat,
        }
    }
}

impl From<FieldError> for OpenAiError {
    fn from(error: FieldError) -> Self {
        let text = match error.field() {
            Some(_) => error.to_string(),
            None => format!("the body {}", error.problem),
        };
        let mut refused = Self::from(api::invalid(text));
        refused.body.param = error.field().map(str::to_owned);
        refused
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let object = ErrorObject { error: &self.body };
        let mut response = (self.status, axum::Json(object)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer realm=\"jackfield\"");
            headers.insert(header::WWW_AUTHENTICATE, bearer);
        }
        let repeat = if self.may_repeat { "true" } else { "false" };
        headers.insert(SHOULD_RETRY, HeaderValue::from_static(repeat));
        response
    }
}

/// Returns the last frame of a stream that failed: an `error` object, which no `[DONE]` follows.
pub(crate) fn error_frame(failure: &Failure) -> SseFrame {
    let error = OpenAiError::from(failure.clone());
    let object = ErrorObject { error: &error.body };
    SseFrame::data(serde_json::to_vec(&object).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_the_agent_may_have_had_is_not_to_be_repeated() {
        for (reason, repeat) in [
            (Reason::Busy, "true"),
            (Reason::RateLimited, "true"),
            (Reason::Stopping, "false"),
            (Reason::Timeout, "false"),
            (Reason::Agent("quota".into()), "false"),
        ] {
            let response = OpenAiError::from(Failure::new(reason, "x")).into_response();
            assert_eq!(response.headers()[SHOULD_RETRY], repeat);
        }
    }

    #[test]
    fn an_error_names_reason_and_field() {
        let error = OpenAiError::field(Reason::Unsupported, "n", "must be 1");
        assert_eq!(error.status, StatusCode::BAD_REQUEST);
        let body = serde_json::to_value(&error.body).unwrap();
        let expected = serde_json::json!({
            "message": "must be 1", "type": "invalid_request_error", "param": "n", "code": "unsupported",
        });
        assert_eq!(body, expected);
        assert_eq!(code(&Reason::Agent("quota".into())), "quota");
        assert_eq!(code(&Reason::NotFound), "model_not_found");
    }
}
