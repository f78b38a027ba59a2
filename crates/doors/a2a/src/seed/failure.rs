//! Translation of the core's [`Failure`]s into JSON-RPC codes and HTTP statuses (docs/promises.md), in one
//! exhaustive match.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use jackfield_model::{Failure, Reason};

use super::reply_reader::LiveCallError;
use crate::wire::seed::{
    SeedCode, SeedRefusal, SeedRequestId,
    task::{SeedErrorCode, SeedStatus, TaskError},
};

/// Returns the status and the code of a failure.
fn verdict(reason: &Reason) -> (StatusCode, SeedCode) {
    match reason {
        Reason::Invalid | Reason::Unsupported => (StatusCode::BAD_REQUEST, SeedCode::InvalidParams),
        Reason::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, SeedCode::InvalidParams),
        Reason::Unauthorized => (StatusCode::UNAUTHORIZED, SeedCode::Server),
        Reason::NotFound | Reason::SessionUnknown => (StatusCode::NOT_FOUND, SeedCode::Server),
        Reason::Offline | Reason::Stopping => (StatusCode::BAD_GATEWAY, SeedCode::Server),
        Reason::Busy | Reason::RateLimited | Reason::Loop => {
            (StatusCode::TOO_MANY_REQUESTS, SeedCode::Server)
        }
        Reason::Conflict => (StatusCode::CONFLICT, SeedCode::InvalidRequest),
        Reason::Timeout => (StatusCode::GATEWAY_TIMEOUT, SeedCode::Internal),
        // A cancelled call is answered with its task. Only an agent can fail with this reason.
        Reason::Crashed | Reason::Cancelled | Reason::Agent(_) => {
            (StatusCode::BAD_GATEWAY, SeedCode::Internal)
        }
        Reason::SlowReader | Reason::Internal => {
            (StatusCode::INTERNAL_SERVER_ERROR, SeedCode::Internal)
        }
    }
}

impl LiveCallError {
    /// Returns status and error of the task in the answer.
    pub(super) fn task_error(&self) -> (SeedStatus, TaskError<'_>) {
        let error = |message, reason| TaskError {
            code: SeedErrorCode::Execution,
            message,
            reason,
        };
        match self {
            Self::Asked(text, _) => (SeedStatus::Failed, error(text, "input_required")),
            Self::Cancelled => {
                let reason = Reason::Cancelled.label();
                (
                    SeedStatus::Cancelled,
                    error("the call was cancelled", reason),
                )
            }
            Self::Failed(failure) => {
                let code = match failure.reason {
                    Reason::TooLarge => SeedErrorCode::Conversion,
                    _ => SeedErrorCode::Execution,
                };
                let error = error(&failure.text, failure.reason.name());
                (SeedStatus::Failed, TaskError { code, ..error })
            }
        }
    }
}

/// Error response.
#[derive(Debug)]
pub(crate) struct SeedProblem {
    status: StatusCode,
    refusal: SeedRefusal,
}

impl SeedProblem {
    /// Builds the error response to the request with this id.
    pub(super) fn of(id: SeedRequestId, failure: Failure) -> Self {
        let (status, code) = verdict(&failure.reason);
        let refusal =
            SeedRefusal::new(id, code, failure.text).with("reason", failure.reason.name());
        Self { status, refusal }
    }

    /// Builds the error for an unknown agent, or an agent that the caller may not see.
    pub(super) fn no_such_entity(id: SeedRequestId, agent: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            refusal: SeedRefusal::no_such_entity(id, agent),
        }
    }

    /// Builds the error for a body of an unsupported media type.
    pub(super) fn wrong_type(got: &str) -> Self {
        let text = format!("invalid request: Content-Type must be application/json, got '{got}'");
        Self {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            refusal: SeedRefusal::new(SeedRequestId::Unknown, SeedCode::InvalidRequest, text),
        }
    }

    /// Builds the error for an HTTP method other than POST.
    pub(crate) fn wrong_method(got: &Method, path: &str) -> Self {
        let text = format!("invalid request: {path} takes POST, got {got}");
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            refusal: SeedRefusal::new(SeedRequestId::Unknown, SeedCode::InvalidRequest, text),
        }
    }

    /// Builds the error for an unknown path below the prefix of the routes.
    pub(crate) fn not_found(path: &str, prefix: &str) -> Self {
        let text = format!(
            "there is nothing at {path}; use POST {prefix}/message/send or {prefix}/message/stream"
        );
        Self {
            status: StatusCode::NOT_FOUND,
            refusal: SeedRefusal::new(SeedRequestId::Unknown, SeedCode::MethodNotFound, text),
        }
    }
}

/// Error response for an invalid body.
impl From<SeedRefusal> for SeedProblem {
    fn from(refusal: SeedRefusal) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            refusal,
        }
    }
}

impl IntoResponse for SeedProblem {
    fn into_response(self) -> Response {
        let mut response = json(self.refusal.to_body());
        *response.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"jackfield\""),
            );
        }
        response
    }
}

/// Returns a JSON response.
pub(super) fn json(body: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_codes_of_the_design() {
        for (name, status, code) in [
            ("invalid", 400, -32602),
            ("unsupported", 400, -32602),
            ("too_large", 413, -32602),
            ("unauthorized", 401, -32000),
            ("not_found", 404, -32000),
            ("session_unknown", 404, -32000),
            ("offline", 502, -32000),
            ("stopping", 502, -32000),
            ("busy", 429, -32000),
            ("rate_limited", 429, -32000),
            ("loop", 429, -32000),
            ("conflict", 409, -32600),
            ("timeout", 504, -32603),
            ("cancelled", 502, -32603),
            ("crashed", 502, -32603),
            ("an_agents_own", 502, -32603),
            ("slow_reader", 500, -32603),
            ("internal", 500, -32603),
        ] {
            let (told, number) = verdict(&Reason::from_name(name));
            assert_eq!((told.as_u16(), number.number()), (status, code), "{name}");
        }
    }
}
