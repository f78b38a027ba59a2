//! Messages of the protocol: JSON-RPC 2.0, one message per frame. The types of their parameters are in `wire/`.

mod content;
mod elicitation;
mod params;
mod permission;
#[cfg(test)]
mod tests;
mod update;

use std::borrow::Cow;

use jackfield_wire::read::{
    BorrowedText, FieldError, FieldErrorKind, read_part, try_read, verbatim,
};
use serde::{Deserialize, Serialize};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

pub(crate) use self::{
    content::{ContentBlock, Resource, blocks},
    elicitation::{Elicitation, ElicitationAnswer},
    params::{
        CancelRequestParams, ClientCapabilities, Initialize, NewSession, Prompt, SessionParams,
        initialized,
    },
    permission::{PermissionOutcome, PermissionRequest, PermissionTool},
    update::{SessionUpdate, ToolCall, ToolCallUpdate, ToolContent, ToolStatus},
};

/// Version of the protocol.
pub(crate) const VERSION: u16 = 1;

/// Error codes of the protocol.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL_ERROR: i32 = -32603;
    pub(crate) const AUTH_REQUIRED: i32 = -32000;
    pub(crate) const NOT_FOUND: i32 = -32002;
    pub(crate) const CANCELLED: i32 = -32800;
}

/// Id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Number(i64),
    Text(String),
}

impl RequestId {
    /// Reads an id; `None` if it is neither a whole number nor a string.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) => try_read::<String>(text).map(Self::Text),
        }
    }
}

/// A message of the editor.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// A request, which gets a response.
    Request {
        id: RequestId,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// A notification, which gets none.
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// The response to a request of the hub. `None` if the editor could not carry it out.
    Response {
        id: RequestId,
        result: Option<&'a RawValue>,
    },
    /// A response that belongs to no request, such as the report of an unreadable frame.
    Stray,
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Creates the error about a field of a request.
    pub(crate) fn field(code: i32, field: &str, message: impl Into<String>) -> Self {
        Self {
            data: Some(json!({"field": field})),
            ..Self::new(code, message)
        }
    }

    /// Creates the error for parameters that could not be read.
    pub(crate) fn invalid_params(error: &FieldError) -> Self {
        Self::unreadable(code::INVALID_PARAMS, error)
    }

    fn unreadable(code: i32, error: &FieldError) -> Self {
        match error.field() {
            Some(field) => Self::field(code, field, error.to_string()),
            None => Self::new(code, error.to_string()),
        }
    }
}

/// A message that could not be read: the error, and the id of the request if there is one.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: BorrowedText<'a>,
    #[serde(default, borrow, deserialize_with = "verbatim")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<BorrowedText<'a>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "verbatim")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// The id of a message, whatever else is wrong with the message.
#[derive(Deserialize)]
struct OnlyId<'a> {
    #[serde(default, borrow, deserialize_with = "verbatim")]
    id: Option<&'a RawValue>,
}

/// Reads a frame.
pub(crate) fn read(text: &str, max_depth: usize) -> Result<Incoming<'_>, Unreadable> {
    let refused = |error| Unreadable {
        id: try_read::<OnlyId<'_>>(text)
            .and_then(|it| it.id)
            .and_then(RequestId::read),
        error,
    };
    let envelope: Envelope<'_> = match jackfield_wire::read::read(text, max_depth) {
        Ok(envelope) => envelope,
        Err(error) => return Err(refused(unreadable(text, &error))),
    };
    let invalid = |field, text| refused(RpcError::field(code::INVALID_REQUEST, field, text));
    if envelope.jsonrpc.0 != "2.0" {
        return Err(invalid("jsonrpc", "field \"jsonrpc\" must be \"2.0\""));
    }
    let id = match envelope.id {
        None => None,
        Some(raw) => match RequestId::read(raw) {
            Some(id) => Some(id),
            None if envelope.method.is_none() => return Ok(Incoming::Stray),
            None => {
                let text = "field \"id\" must be a whole number or a string; leave it out for a notification";
                return Err(invalid("id", text));
            }
        },
    };
    match (envelope.method, id) {
        (Some(method), Some(id)) => Ok(Incoming::Request {
            id,
            method: method.0,
            params: envelope.params,
        }),
        (Some(method), None) => Ok(Incoming::Notification {
            method: method.0,
            params: envelope.params,
        }),
        (None, Some(id)) if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(Incoming::Response {
                id,
                result: envelope.result.filter(|_| envelope.error.is_none()),
            })
        }
        (None, _) => {
            let text = "field \"method\" is required, or \"result\" or \"error\" with the \"id\" of a request";
            Err(invalid("method", text))
        }
    }
}

/// Returns the error for a frame that is no message.
fn unreadable(text: &str, error: &FieldError) -> RpcError {
    if error.mistake == FieldErrorKind::Syntax {
        return RpcError::new(code::PARSE_ERROR, format!("the frame {}", error.problem));
    }
    if text.trim_start().starts_with('[') {
        let text = "JSON-RPC batches are not supported; send one message per frame";
        return RpcError::new(code::INVALID_REQUEST, text);
    }
    RpcError::unreadable(code::INVALID_REQUEST, error)
}

/// Reads the parameters of a request. Absent parameters count as an empty object.
pub(crate) fn params<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, RpcError> {
    let read = match params {
        Some(params) => read_part(params),
        None => jackfield_wire::read::read("{}", usize::MAX),
    };
    read.map_err(|error| RpcError::invalid_params(&error))
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    body: T,
}

#[derive(Serialize)]
struct Call<'a, T> {
    method: &'static str,
    params: &'a T,
}

#[derive(Serialize)]
struct Response<'a, T> {
    result: &'a T,
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a RpcError,
}

fn frame(id: Option<&RawValue>, body: impl Serialize) -> String {
    let frame = Outgoing {
        jsonrpc: "2.0",
        id,
        body,
    };
    // Texts, numbers and checked JSON can always be serialised.
    serde_json::to_string(&frame).unwrap_or_default()
}

fn raw_id(id: &RequestId) -> Box<RawValue> {
    to_raw_value(id).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Writes a notification.
pub(crate) fn notification(method: &'static str, params: &impl Serialize) -> String {
    frame(None, Call { method, params })
}

/// Writes a request of the hub.
pub(crate) fn request(id: u64, method: &'static str, params: &impl Serialize) -> String {
    let id = to_raw_value(&id).unwrap_or_else(|_| RawValue::NULL.to_owned());
    frame(Some(&id), Call { method, params })
}

/// Writes the response to a request.
pub(crate) fn response(id: &RequestId, result: &impl Serialize) -> String {
    frame(Some(&raw_id(id)), Response { result })
}

/// Writes the error response to a request, or to a frame whose id is unknown.
pub(crate) fn refusal(id: Option<&RequestId>, error: &RpcError) -> String {
    let id = id.map_or_else(|| RawValue::NULL.to_owned(), raw_id);
    frame(Some(&id), Refusal { error })
}
