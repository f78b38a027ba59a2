//! Error response: a JSON-RPC code and a message, with the id of the request.

use std::borrow::Cow;

use jackfield_wire::echo;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::write::{Texts, to_json};

/// Error codes of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SeedCode {
    /// The body is not JSON, or has wrong types.
    Parse,
    /// The body is not a valid request.
    InvalidRequest,
    /// Unknown method.
    MethodNotFound,
    /// Invalid message.
    InvalidParams,
    /// The agent or the server failed.
    Internal,
    /// The agent cannot be called.
    Server,
}

impl SeedCode {
    /// Returns the number on the wire.
    pub(crate) fn number(self) -> i64 {
        match self {
            SeedCode::Parse => -32700,
            SeedCode::InvalidRequest => -32600,
            SeedCode::MethodNotFound => -32601,
            SeedCode::InvalidParams => -32602,
            SeedCode::Internal => -32603,
            SeedCode::Server => -32000,
        }
    }
}

/// Id of a request: a string or a number, as written.
#[derive(Debug, Clone, Default)]
pub(crate) enum SeedRequestId {
    /// Missing or unreadable id. Answers have the empty string, as in the original.
    #[default]
    Unknown,
    /// Id of the request.
    Given(Box<RawValue>),
}

impl SeedRequestId {
    /// Copies an id; `None` unless a string or a number.
    pub(super) fn of(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes() {
            b"\"\"" => Some(SeedRequestId::Unknown),
            [b'"' | b'-' | b'0'..=b'9', ..] => Some(SeedRequestId::Given(raw.to_owned())),
            _ => None,
        }
    }
}

impl Serialize for SeedRequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SeedRequestId::Unknown => "".serialize(serializer),
            SeedRequestId::Given(raw) => raw.serialize(serializer),
        }
    }
}

/// Error response to a request.
#[derive(Debug, Clone)]
pub(crate) struct SeedRefusal {
    /// Id of the request.
    pub id: SeedRequestId,
    /// Error code.
    pub code: SeedCode,
    /// Error message.
    pub message: Cow<'static, str>,
    /// Machine-readable facts, as members of `data`; `data` is left out if empty.
    pub data: Vec<(&'static str, String)>,
}

impl SeedRefusal {
    /// Creates an error for the request with this id.
    pub(crate) fn new(
        id: SeedRequestId,
        code: SeedCode,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        SeedRefusal {
            id,
            code,
            message: message.into(),
            data: Vec::new(),
        }
    }

    /// Creates the error for an unknown agent, or an agent that the caller may not see.
    pub(crate) fn no_such_entity(id: SeedRequestId, agent: &str) -> Self {
        let message = format!("entity '{}' not found", echo(agent));
        SeedRefusal::new(id, SeedCode::Server, message)
    }

    /// Creates the error for an unreadable body. The message is the original's; the details are in `data`.
    pub(crate) fn unreadable(detail: String) -> Self {
        let refusal = SeedRefusal::new(
            SeedRequestId::default(),
            SeedCode::Parse,
            "Failed to parse JSON",
        );
        refusal.with("detail", detail)
    }

    /// Adds a member of `data`.
    pub(crate) fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.data.push((name, text.into()));
        self
    }

    /// Returns the body of the response.
    pub(crate) fn to_body(&self) -> String {
        let error = ErrorOut {
            code: self.code.number(),
            message: &self.message,
            data: Texts(&self.data),
        };
        response(&self.id, None::<()>, Some(error))
    }
}

/// Serialized form of an error.
#[derive(Debug, Serialize)]
pub(super) struct ErrorOut<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Texts::is_empty")]
    data: Texts<'a>,
}

/// Writes the body of a response with a result or an error.
pub(super) fn response<T: Serialize>(
    id: &SeedRequestId,
    result: Option<T>,
    error: Option<ErrorOut<'_>>,
) -> String {
    #[derive(Serialize)]
    struct SeedResponseOut<'a, T> {
        jsonrpc: &'static str,
        id: &'a SeedRequestId,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<T>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorOut<'a>>,
    }
    to_json(&SeedResponseOut {
        jsonrpc: "2.0",
        id,
        result,
        error,
    })
}
