//! The error of a request: a JSON-RPC code and a sentence, with the id of the request that it answers.

use std::borrow::Cow;

use jackfield_wire::echo;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::write::{Texts, to_json};

/// The codes of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// The body is not JSON, or not of the right types.
    Parse,
    /// The request is not one.
    InvalidRequest,
    /// The method is unknown.
    MethodNotFound,
    /// The message says something that cannot be.
    InvalidParams,
    /// The agent or the server failed.
    Internal,
    /// The agent cannot be called.
    Server,
}

impl Code {
    /// The number on the wire.
    pub(crate) fn number(self) -> i64 {
        match self {
            Code::Parse => -32700,
            Code::InvalidRequest => -32600,
            Code::MethodNotFound => -32601,
            Code::InvalidParams => -32602,
            Code::Internal => -32603,
            Code::Server => -32000,
        }
    }
}

/// The id of a request: a string or a number, as it was written.
#[derive(Debug, Clone, Default)]
pub(crate) enum Id {
    /// None was given, or none could be read. Answers say the empty string then, as the original does.
    #[default]
    Unknown,
    /// This one.
    Given(Box<RawValue>),
}

impl Id {
    /// Takes an id over; `None` if it is neither a string nor a number.
    pub(super) fn of(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes() {
            b"\"\"" => Some(Id::Unknown),
            [b'"' | b'-' | b'0'..=b'9', ..] => Some(Id::Given(raw.to_owned())),
            _ => None,
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Id::Unknown => "".serialize(serializer),
            Id::Given(raw) => raw.serialize(serializer),
        }
    }
}

/// Why a request was refused.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// Which request.
    pub id: Id,
    /// The code.
    pub code: Code,
    /// The sentence.
    pub message: Cow<'static, str>,
    /// What programs may want to know besides, as members of `data`; left out when there is nothing.
    pub data: Vec<(&'static str, String)>,
}

impl Refusal {
    /// A refusal of the request with this id.
    pub(crate) fn new(id: Id, code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Refusal {
            id,
            code,
            message: message.into(),
            data: Vec::new(),
        }
    }

    /// Nobody is called so, or nobody that the caller may know of.
    pub(crate) fn no_such_entity(id: Id, agent: &str) -> Self {
        let message = format!("entity '{}' not found", echo(agent));
        Refusal::new(id, Code::Server, message)
    }

    /// The body cannot be read at all; the sentence is the original's, ours stands in `data`.
    pub(crate) fn unreadable(detail: String) -> Self {
        let refusal = Refusal::new(Id::default(), Code::Parse, "Failed to parse JSON");
        refusal.with("detail", detail)
    }

    /// Adds a member of `data`.
    pub(crate) fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.data.push((name, text.into()));
        self
    }

    /// The body of the response.
    pub(crate) fn to_body(&self) -> String {
        let error = ErrorOut {
            code: self.code.number(),
            message: &self.message,
            data: Texts(&self.data),
        };
        response(&self.id, None::<()>, Some(error))
    }
}

/// The error of a response.
#[derive(Debug, Serialize)]
pub(super) struct ErrorOut<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Texts::is_empty")]
    data: Texts<'a>,
}

/// Writes the body of a response, which has a result or an error.
pub(super) fn response<T: Serialize>(
    id: &Id,
    result: Option<T>,
    error: Option<ErrorOut<'_>>,
) -> String {
    #[derive(Serialize)]
    struct Response<'a, T> {
        jsonrpc: &'static str,
        id: &'a Id,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<T>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorOut<'a>>,
    }
    to_json(&Response {
        jsonrpc: "2.0",
        id,
        result,
        error,
    })
}
