//! Error responses for the platform: a status, a code and a sentence.

use std::borrow::Cow;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use jackfield_model::{AgentId, Failure, Reason, id::InvalidPeerId};
use jackfield_wire::{
    bridge::{BridgeErrorCode, FREE_CLIENT_ID_RULE},
    read::FieldError,
};

use crate::{failure, relay::sentences, wire::response::RelayErrorBody};

/// Code for an oversized body, defined only for HTTP.
const TOO_LARGE: &str = "payload_too_large";

/// An error response.
#[derive(Debug)]
pub(crate) struct RelayApiError {
    status: StatusCode,
    code: Cow<'static, str>,
    text: Cow<'static, str>,
}

impl RelayApiError {
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

    /// Creates the error for an invalid body.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        let code = BridgeErrorCode::InvalidMessage.name();
        Self::new(StatusCode::BAD_REQUEST, code, text)
    }

    /// Creates the error for an invalid query.
    pub(crate) fn bad_query(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", text)
    }

    /// Creates the error for a task that does not exist or does not belong to the platform.
    pub(crate) fn no_task() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Task not found")
    }

    /// Creates the error for an offline agent, with the text of the original hub.
    pub(crate) fn offline(text: impl Into<Cow<'static, str>>) -> Self {
        let code = BridgeErrorCode::AgentOffline.name();
        Self::new(StatusCode::NOT_FOUND, code, text)
    }

    /// Creates the error for an unsafe client id: agents create a folder with this name, and some names are
    /// reserved for the hub.
    pub(crate) fn unsafe_client_id() -> Self {
        Self::invalid(format!("field \"client_id\" {FREE_CLIENT_ID_RULE}"))
    }

    /// Adds a prefix to the text, as used by the original hub.
    pub(crate) fn prefixed(mut self, words: &str) -> Self {
        self.text = format!("{words}: {}", self.text).into();
        self
    }
}

impl From<FieldError> for RelayApiError {
    fn from(misread: FieldError) -> Self {
        match misread.field() {
            Some(_) => Self::invalid(misread.to_string()),
            None => Self::invalid(format!("the body {}", misread.problem)),
        }
    }
}

impl From<Failure> for RelayApiError {
    fn from(failure: Failure) -> Self {
        let code = match failure.reason {
            Reason::TooLarge => TOO_LARGE,
            _ => failure::code(&failure.reason),
        };
        let text = sentences::refusal(&failure);
        Self::new(failure::status(&failure.reason), code.to_owned(), text)
    }
}

impl IntoResponse for RelayApiError {
    fn into_response(self) -> Response {
        let body = RelayErrorBody {
            error: &self.code,
            message: Some(&self.text),
        };
        (self.status, Json(body)).into_response()
    }
}

/// Parses the [`AgentId`] of a field or path.
pub(crate) fn agent_id(text: &str) -> Result<AgentId, RelayApiError> {
    AgentId::parse(text).map_err(|error| {
        RelayApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_agent_id",
            error.to_string(),
        )
    })
}

/// Parses an id of a request or session chosen by the platform.
pub(crate) fn peer_id<T>(
    field: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, InvalidPeerId>,
) -> Result<T, RelayApiError> {
    parse(text).map_err(|error| RelayApiError::invalid(format!("field {field:?}: {error}")))
}
