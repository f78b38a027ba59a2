//! Reader for errors of servers, in every binding and version.

use jackfield_wire::{json, read};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::fields::{integer, number},
    A2aError, A2aErrorKind,
    body::DOMAIN,
};

/// All kinds, for lookups by code or reason.
const ALL: [A2aErrorKind; 20] = [
    A2aErrorKind::Parse,
    A2aErrorKind::InvalidRequest,
    A2aErrorKind::MethodNotFound,
    A2aErrorKind::InvalidParams,
    A2aErrorKind::Internal,
    A2aErrorKind::TaskNotFound,
    A2aErrorKind::TaskNotCancelable,
    A2aErrorKind::PushNotSupported,
    A2aErrorKind::Unsupported,
    A2aErrorKind::ContentType,
    A2aErrorKind::InvalidAgentResponse,
    A2aErrorKind::NoExtendedCard,
    A2aErrorKind::ExtensionRequired,
    A2aErrorKind::VersionNotSupported,
    A2aErrorKind::Unauthenticated,
    A2aErrorKind::AgentNotFound,
    A2aErrorKind::TooLarge,
    A2aErrorKind::Busy,
    A2aErrorKind::Unavailable,
    A2aErrorKind::Conflict,
];

/// Message for an error without a text.
const SAID_NOTHING: &str = "the server gave no reason";

impl A2aErrorKind {
    /// Returns the kind of a JSON-RPC code; unknown codes give [`A2aErrorKind::Internal`].
    pub(crate) fn from_code(code: i64) -> Self {
        // Some kinds share a code. The first kind in the list is the protocol's own.
        let of_code = |kind: &&A2aErrorKind| A2aError::new(**kind, "").code() == code;
        match code {
            // The code is free for each server and has no defined meaning.
            -32000 => Self::Internal,
            _ => ALL.iter().find(of_code).copied().unwrap_or(Self::Internal),
        }
    }

    /// Returns the kind of a reason.
    pub(crate) fn from_reason(reason: &str) -> Option<Self> {
        ALL.iter().find(|kind| kind.reason() == reason).copied()
    }

    /// Corrects [`A2aErrorKind::Internal`] by the message of the JavaScript library: one build of the library does
    /// not recognize its own errors and loses their codes.
    fn or_by_words(self, message: &str) -> Self {
        match self {
            Self::Internal if message.starts_with("Task not found: ") => Self::TaskNotFound,
            Self::Internal if message.starts_with("Task not cancelable: ") => {
                Self::TaskNotCancelable
            }
            _ => self,
        }
    }

    /// Returns the kind nearest to an HTTP status, for errors without other information.
    fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Unauthenticated,
            404 => Self::TaskNotFound,
            405 => Self::MethodNotFound,
            409 => Self::TaskNotCancelable,
            413 => Self::TooLarge,
            415 => Self::ContentType,
            422 => Self::InvalidParams,
            429 => Self::Busy,
            400..=499 => Self::InvalidRequest,
            501 => Self::Unsupported,
            502 => Self::InvalidAgentResponse,
            503 | 504 => Self::Unavailable,
            _ => Self::Internal,
        }
    }
}

impl A2aError {
    /// Reads a JSON-RPC error. The data may be more specific than the code.
    pub(crate) fn from_rpc(code: i64, message: impl Into<String>, data: Option<&RawValue>) -> Self {
        let message = message.into();
        let by_code = || A2aErrorKind::from_code(code).or_by_words(&message);
        let kind = data.and_then(reason_in).unwrap_or_else(by_code);
        Self::new(kind, message)
    }

    /// Reads the error in an HTTP body, in the forms of both versions and of common servers; `None` for other
    /// content.
    pub(crate) fn from_rest(status: u16, body: &RawValue) -> Option<Self> {
        let outer: HttpErrorIn<'_> = read::read_part(body).ok()?;
        let inner = outer.error.and_then(|error| read::read_part(error).ok());
        let error: &HttpErrorIn<'_> = inner.as_ref().unwrap_or(&outer);
        let message = match outer.error.and_then(json::str_of) {
            Some(message) => message.into_owned(),
            None => error.said()?,
        };
        let reason = [error.details, error.data]
            .into_iter()
            .flatten()
            .find_map(reason_in);
        let code = error.code.and_then(number);
        let kind = match (reason, code) {
            (Some(kind), _) => kind,
            // Positive codes are HTTP statuses and add no information.
            (None, Some(code)) if code < 0 => A2aErrorKind::from_code(code).or_by_words(&message),
            _ => A2aErrorKind::from_status(status),
        };
        Some(Self::new(kind, message))
    }
}

/// Serialized HTTP error, with the member names of the protocol, of frameworks and of problem reports.
#[derive(Debug, Deserialize)]
struct HttpErrorIn<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl HttpErrorIn<'_> {
    /// Returns the message: the protocol's `message`, or the equivalent of another form.
    fn said(&self) -> Option<String> {
        if let Some(message) = self.message.and_then(json::str_of) {
            return Some(message.into_owned());
        }
        if let Some(detail) = self.detail {
            return Some(match json::str_of(detail) {
                Some(text) => text.into_owned(),
                // A list of problems.
                None => json::compact(detail),
            });
        }
        if let Some(title) = self.title.and_then(json::str_of) {
            return Some(title.into_owned());
        }
        let has_code = self.code.is_some_and(|code| integer(code.get()).is_some());
        has_code.then(|| SAID_NOTHING.to_owned())
    }
}

/// Reason of an error with its domain.
#[derive(Debug, Deserialize)]
struct ReasonIn<'a> {
    #[serde(borrow)]
    domain: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

/// Finds the reason in error details: in an object, or in an element of a list.
fn reason_in(data: &RawValue) -> Option<A2aErrorKind> {
    let of_object = |raw: &RawValue| {
        let given: ReasonIn<'_> = read::read_part(raw).ok()?;
        let domain = given.domain.and_then(json::str_of);
        let is_ours = domain.is_none_or(|domain| domain == DOMAIN);
        let reason = given.reason.and_then(json::str_of).filter(|_| is_ours)?;
        A2aErrorKind::from_reason(&reason)
    };
    match json::elements(data) {
        Some(details) => details.into_iter().find_map(of_object),
        None => of_object(data),
    }
}
