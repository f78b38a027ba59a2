//! What the platform is told when something does not work: a status, a code and a sentence.

use std::borrow::Cow;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use jackfield_model::{AgentId, Failure, Reason, id::BadPeerId};
use jackfield_wire::{
    bridge::{ErrorCode, FREE_CLIENT_ID},
    read::Misread,
};

use crate::{failure, relay::words, wire::response::ErrorBody};

/// The code for a body over the limit, which only HTTP knows.
const TOO_LARGE: &str = "payload_too_large";

/// A refusal.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: Cow<'static, str>,
    text: Cow<'static, str>,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code: code.into(),
            text: text.into(),
        }
    }

    /// The body says something that cannot be.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        let code = ErrorCode::InvalidMessage.name();
        Self::new(StatusCode::BAD_REQUEST, code, text)
    }

    /// The query says something that cannot be.
    pub(crate) fn bad_query(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", text)
    }

    /// No such task, or none of the platform's.
    pub(crate) fn no_task() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Task not found")
    }

    /// The agent cannot be called, in the words of the original hub.
    pub(crate) fn offline(text: impl Into<Cow<'static, str>>) -> Self {
        let code = ErrorCode::AgentOffline.name();
        Self::new(StatusCode::NOT_FOUND, code, text)
    }

    /// Agents make a folder of that name, and some are the hub's to give.
    pub(crate) fn unsafe_client_id() -> Self {
        Self::invalid(format!("field \"client_id\" {FREE_CLIENT_ID}"))
    }

    /// The same in more words, the first of which the original hub has.
    pub(crate) fn prefixed(mut self, words: &str) -> Self {
        self.text = format!("{words}: {}", self.text).into();
        self
    }
}

impl From<Misread> for Problem {
    fn from(misread: Misread) -> Self {
        match misread.field() {
            Some(_) => Self::invalid(misread.to_string()),
            None => Self::invalid(format!("the body {}", misread.problem)),
        }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let code = match failure.reason {
            Reason::TooLarge => TOO_LARGE,
            _ => failure::code(&failure.reason),
        };
        let text = words::refusal(&failure);
        Self::new(failure::status(&failure.reason), code.to_owned(), text)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: &self.code,
            message: Some(&self.text),
        };
        (self.status, Json(body)).into_response()
    }
}

/// The agent that a field or path names.
pub(crate) fn agent_id(text: &str) -> Result<AgentId, Problem> {
    AgentId::parse(text).map_err(|error| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_agent_id",
            error.to_string(),
        )
    })
}

/// An id of a request or session that the platform chose.
pub(crate) fn peer_id<T>(
    field: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, BadPeerId>,
) -> Result<T, Problem> {
    parse(text).map_err(|error| Problem::invalid(format!("field {field:?}: {error}")))
}
