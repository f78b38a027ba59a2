//! What a caller of the API is told when something goes wrong: always `{"error", "message"}` and the HTTP code of
//! DESIGN 8. The one exhaustive match of this door is [`status`]; [`Refused`] and [`CallRefused`] are the same for
//! the API's description.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jackfield_core::{
    failure::{Failure, Reason},
    store::StoreError,
};
use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{Content, RefOr, ResponseBuilder, ResponsesBuilder},
};

/// The HTTP code of a failure (DESIGN 8).
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
    /// What happened and what to do about it, for people.
    pub message: String,
}

impl From<&Failure> for ErrorView {
    fn from(failure: &Failure) -> Self {
        Self {
            error: failure.reason.name().to_owned(),
            message: failure.text.to_string(),
        }
    }
}

/// A failure on its way out as an HTTP response.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    body: ErrorView,
}

impl Problem {
    /// The same failure under another code, where HTTP has a more precise one.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
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
pub(crate) fn invalid(text: impl Into<String>) -> Failure {
    Failure::new(Reason::Invalid, text.into())
}

/// The store failed; the operator finds the details in the log.
pub(crate) fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "the store failed");
    Failure::new(
        Reason::Internal,
        "the hub's store failed; the hub's log says why",
    )
}

/// What every route may answer, whatever it does.
#[derive(Debug)]
pub(crate) struct Refused;

/// What every route may answer that reads a body or makes an agent work.
#[derive(Debug)]
pub(crate) struct CallRefused;

type Responses = BTreeMap<String, RefOr<utoipa::openapi::response::Response>>;

fn errors(list: &[(&str, &str)]) -> Responses {
    let response = |description: &str| {
        let content = Content::new(Some(utoipa::openapi::Ref::from_schema_name("Error")));
        ResponseBuilder::new()
            .description(description)
            .content("application/json", content)
            .build()
    };
    let list = list
        .iter()
        .map(|(code, description)| ((*code).to_owned(), response(description)));
    ResponsesBuilder::new()
        .responses_from_iter(list)
        .build()
        .into()
}

const REFUSED: [(&str, &str); 3] = [
    (
        "400",
        "The request is malformed, or cannot be done: invalid, unsupported",
    ),
    (
        "401",
        "A token is needed, or this one may not do it: unauthorized",
    ),
    ("500", "A fault of the hub: internal"),
];

const CALL_REFUSED: [(&str, &str); 6] = [
    ("404", "No such thing, or none of yours: not_found"),
    ("409", "The id is in use, or it is done already: conflict"),
    ("413", "The message or the answer is too large: too_large"),
    (
        "429",
        "Too much is open, or the agents would call in a loop: busy, rate_limited, loop",
    ),
    (
        "502",
        "The agent is offline or failed, or the hub is stopping: offline, crashed, stopping, the agent's own code",
    ),
    ("504", "A clock ran out: timeout"),
];

impl IntoResponses for Refused {
    fn responses() -> Responses {
        errors(&REFUSED)
    }
}

impl IntoResponses for CallRefused {
    fn responses() -> Responses {
        errors(&[&REFUSED[..], &CALL_REFUSED[..]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_a_failure_can_have_is_in_the_description() {
        let described = CallRefused::responses();
        for name in [
            "invalid",
            "unsupported",
            "too_large",
            "unauthorized",
            "not_found",
            "offline",
            "stopping",
            "busy",
            "rate_limited",
            "loop",
            "conflict",
            "timeout",
            "cancelled",
            "session_unknown",
            "crashed",
            "slow_reader",
            "internal",
            "an_agents_own",
        ] {
            let code = status(&Reason::from_name(name));
            assert!(described.contains_key(code.as_str()), "{name}: {code}");
        }
    }

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
