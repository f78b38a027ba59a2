//! Envelope of JSON-RPC: a request and a response, read and written for either side.
//!
//! A request without an id would be a notification, whose sender expects no answer. The protocol has no
//! notifications. Such a request is refused and not run, because its answer could not be matched and would be
//! lost.
//!
//! The params are not checked here, because the method comes first: the `read_*` functions refuse params that
//! are not an object.

use std::borrow::Cow;

use jackfield_wire::{
    json,
    read::{self, FieldError, FieldErrorKind},
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    fields::{given, number},
    model::Raw,
    write::append,
};

/// JSON-RPC version.
const VERSION: &str = "2.0";

/// Initial capacity, enough for most requests and answers.
const CAPACITY: usize = 1024;

/// Id of a request, as written.
#[derive(Debug, Clone, Default)]
pub(crate) enum RpcId {
    /// Missing or unreadable id.
    #[default]
    Null,
    /// String or number.
    Given(Raw),
}

impl RpcId {
    /// Copies an id; `None` unless a string, a number or `null`.
    fn of(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes() {
            b"null" => Some(Self::Null),
            [b'"' | b'-' | b'0'..=b'9', ..] => Some(Self::Given(raw.to_owned())),
            _ => None,
        }
    }
}

/// JSON-RPC request.
#[derive(Debug, Clone)]
pub(crate) struct RpcCall<'a> {
    /// Id of the request.
    pub id: RpcId,
    /// Method name.
    pub method: Cow<'a, str>,
    /// Params of the method.
    pub params: Option<&'a RawValue>,
}

/// Serialized form of a request.
#[derive(Debug, Deserialize)]
struct CallIn<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Id of a request; other members are ignored.
#[derive(Debug, Deserialize)]
struct IdIn<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

impl RpcId {
    /// Reads the id of a request that is refused anyway; [`RpcId::Null`] if unreadable.
    pub(crate) fn read(body: &[u8]) -> Self {
        let request = read_body::<IdIn<'_>>(body).ok();
        let id = request.and_then(|request| request.id.and_then(Self::of));
        id.unwrap_or_default()
    }
}

impl<'a> RpcCall<'a> {
    /// Reads a body. The error includes the id, if readable.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, (RpcId, A2aError)> {
        let call: CallIn<'a> =
            read_body(body).map_err(|misread| (RpcId::read(body), unreadable(body, &misread)))?;
        let id = match call.id {
            None => Err(invalid(
                "id is missing: send a string or a number, which comes back with the answer",
            )),
            Some(raw) => RpcId::of(raw).ok_or_else(|| invalid("id must be a string or a number")),
        };
        let id = id.map_err(|fault| (RpcId::Null, fault))?;
        if !call.jsonrpc.is_some_and(is_version) {
            return Err((id, invalid("jsonrpc must be \"2.0\"")));
        }
        match call.method.and_then(json::str_of) {
            Some(method) => Ok(Self {
                id,
                method,
                params: call.params,
            }),
            None => Err((id, invalid("method must be a string"))),
        }
    }
}

/// Parses a body without a limit on depth; readers of the content check the depth.
fn read_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, FieldError> {
    let text = std::str::from_utf8(body).map_err(|error| FieldError {
        mistake: FieldErrorKind::Syntax,
        ..FieldError::invalid("", format!("is not valid JSON: {error}"))
    })?;
    read::read(text, usize::MAX)
}

fn is_version(raw: &RawValue) -> bool {
    json::str_of(raw).is_some_and(|version| version == VERSION)
}

/// Writes a request; `fill` appends the params.
pub(crate) fn write_call(id: &str, method: &str, fill: impl FnOnce(&mut String)) -> String {
    #[derive(Serialize)]
    struct Head<'a> {
        jsonrpc: &'static str,
        id: &'a str,
        method: &'a str,
    }
    let head = Head {
        jsonrpc: VERSION,
        id,
        method,
    };
    write_with(&head, "params", fill)
}

/// JSON-RPC response.
#[derive(Debug, Clone)]
pub(crate) struct RpcResponse<'a> {
    /// Id of the request.
    pub id: RpcId,
    /// Result or error.
    pub outcome: Result<&'a RawValue, A2aError>,
}

/// Serialized form of a response.
#[derive(Debug, Deserialize)]
struct ResponseIn<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Serialized form of a response's error.
#[derive(Debug, Deserialize)]
struct RpcErrorIn<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl<'a> RpcResponse<'a> {
    /// Reads a body. The error explains why the body is not a response, without quoting the body.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, String> {
        let response: ResponseIn<'a> = read_body(body).map_err(|misread| no_response(&misread))?;
        if !response.jsonrpc.is_some_and(is_version) {
            let is_naked = response.result.is_none() && response.error.is_none();
            return Err(if is_naked {
                "it has no envelope: each answer, and each data: of a stream, must be a whole JSON-RPC response".to_owned()
            } else {
                "jsonrpc must be \"2.0\"".to_owned()
            });
        }
        let id = match response.id {
            None => RpcId::Null,
            Some(raw) => RpcId::of(raw).ok_or("its id is neither a string nor a number")?,
        };
        let outcome = match (response.error, response.result) {
            (Some(error), _) => Err(fault_of(error)?),
            (None, Some(result)) => Ok(result),
            (None, None) => return Err("it has neither a result nor an error".to_owned()),
        };
        Ok(Self { id, outcome })
    }

    /// Returns true if the response answers the request with this id. A server that could not read a request
    /// cannot repeat the id.
    pub(crate) fn answers(&self, id: &str) -> bool {
        match &self.id {
            RpcId::Null => self.outcome.is_err(),
            RpcId::Given(raw) => json::str_of(raw).is_some_and(|given| given == id),
        }
    }
}

/// Explains why a body is not a response.
#[cold]
fn no_response(misread: &FieldError) -> String {
    match (misread.mistake, misread.field()) {
        (FieldErrorKind::Syntax, _) => format!("it {}", misread.problem),
        (_, Some(field)) => format!("its {field} {}", misread.problem),
        (_, None) => "it is no JSON object".to_owned(),
    }
}

/// Reads the error of a response.
fn fault_of(error: &RawValue) -> Result<A2aError, String> {
    let error: RpcErrorIn<'_> =
        read::read_part(error).map_err(|misread| match misread.field() {
            Some(field) => format!("its error.{field} {}", misread.problem),
            None => "its error is no object".to_owned(),
        })?;
    let code = error.code.and_then(number).ok_or("its error has no code")?;
    let message = error.message.and_then(json::str_of).unwrap_or_default();
    Ok(A2aError::from_rpc(code, message, error.data))
}

fn invalid(why: &str) -> A2aError {
    A2aError::new(
        A2aErrorKind::InvalidRequest,
        format!("invalid request: {why}"),
    )
}

/// Explains why a body is not a request.
#[cold]
fn unreadable(body: &[u8], misread: &FieldError) -> A2aError {
    match (misread.mistake, misread.field()) {
        (FieldErrorKind::Syntax, _) => {
            A2aError::new(A2aErrorKind::Parse, format!("the body {}", misread.problem))
        }
        (_, Some(field)) => invalid(&format!("{field} {}", misread.problem)),
        (_, None) if body.trim_ascii().starts_with(b"[") => {
            invalid("batches are not supported, send one request at a time")
        }
        (_, None) => invalid("it must be an object"),
    }
}

/// Writes a response; `fill` appends the result.
pub(crate) fn write_result(id: &RpcId, fill: impl FnOnce(&mut String)) -> String {
    write_with(&Head::of(id), "result", fill)
}

/// Writes an error response.
pub(crate) fn write_error(version: A2aVersion, id: &RpcId, fault: &A2aError) -> String {
    write_with(&Head::of(id), "error", |out| {
        append(out, &fault.rpc_error(version));
    })
}

/// Common members of every response.
#[derive(Debug, Serialize)]
struct Head<'a> {
    jsonrpc: &'static str,
    id: &'a RpcId,
}

impl<'a> Head<'a> {
    fn of(id: &'a RpcId) -> Self {
        Self {
            jsonrpc: VERSION,
            id,
        }
    }
}

impl Serialize for RpcId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Given(raw) => raw.serialize(serializer),
        }
    }
}

/// Writes an object that begins with `head` and ends with a member from `fill`, which is appended unparsed.
fn write_with(head: &impl Serialize, name: &str, fill: impl FnOnce(&mut String)) -> String {
    let mut out = String::with_capacity(CAPACITY);
    append(&mut out, head);
    // Remove the closing brace.
    out.pop();
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    fill(&mut out);
    out.push('}');
    out
}
