//! The envelope of JSON-RPC: one request, one response, read and written from either side.
//!
//! A request without an id would be a notification, whose sender wants no answer. This protocol has none, so that it is refused
//! and not run: an answer that nobody can match to its request is lost.
//! Params are not looked at here, since the method comes first: `read_*` refuse what is no object.

use std::borrow::Cow;

use jackfield_wire::{
    json,
    read::{self, Misread, Mistake},
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    Version,
    error::{Fault, Kind},
    fields::{given, number},
    model::Raw,
    write::append,
};

/// The only version of JSON-RPC.
const VERSION: &str = "2.0";

/// Room for most requests and answers.
const CAPACITY: usize = 1024;

/// The id of a request, as it was written.
#[derive(Debug, Clone, Default)]
pub(crate) enum Id {
    /// None was given, or none could be read.
    #[default]
    Null,
    /// A string or a number.
    Given(Raw),
}

impl Id {
    /// Takes an id over; `None` if it is neither a string nor a number nor `null`.
    fn of(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes() {
            b"null" => Some(Self::Null),
            [b'"' | b'-' | b'0'..=b'9', ..] => Some(Self::Given(raw.to_owned())),
            _ => None,
        }
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    /// Its id.
    pub id: Id,
    /// What is asked.
    pub method: Cow<'a, str>,
    /// With what.
    pub params: Option<&'a RawValue>,
}

/// A request as it is written.
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

/// The id of a request, whatever else it holds.
#[derive(Debug, Deserialize)]
struct IdIn<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

impl Id {
    /// The id of a request that is refused whatever else it says; `null` if there is none to be read.
    pub(crate) fn read(body: &[u8]) -> Self {
        let request = read_body::<IdIn<'_>>(body).ok();
        let id = request.and_then(|request| request.id.and_then(Self::of));
        id.unwrap_or_default()
    }
}

impl<'a> Call<'a> {
    /// Reads a body. With the error comes the id, as far as it could be read.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, (Id, Fault)> {
        let call: CallIn<'a> =
            read_body(body).map_err(|misread| (Id::read(body), unreadable(body, &misread)))?;
        let id = match call.id {
            None => Err(invalid(
                "id is missing: send a string or a number, which comes back with the answer",
            )),
            Some(raw) => Id::of(raw).ok_or_else(|| invalid("id must be a string or a number")),
        };
        let id = id.map_err(|fault| (Id::Null, fault))?;
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

/// Reads a body, whose depth is left to whoever reads what is in it.
fn read_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Misread> {
    let text = std::str::from_utf8(body).map_err(|error| Misread {
        mistake: Mistake::Syntax,
        ..Misread::invalid("", format!("is not valid JSON: {error}"))
    })?;
    read::read(text, usize::MAX)
}

fn is_version(raw: &RawValue) -> bool {
    json::str_of(raw).is_some_and(|version| version == VERSION)
}

/// A request, whose params `fill` appends.
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

/// What answers a request.
#[derive(Debug, Clone)]
pub(crate) struct Response<'a> {
    /// The id of the request.
    pub id: Id,
    /// What came of it, or what went wrong.
    pub outcome: Result<&'a RawValue, Fault>,
}

/// A response as it is written.
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

/// The error of a response as it is written.
#[derive(Debug, Deserialize)]
struct ErrorIn<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl<'a> Response<'a> {
    /// Reads a body; the error says why it is no response, without a word of it.
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
            None => Id::Null,
            Some(raw) => Id::of(raw).ok_or("its id is neither a string nor a number")?,
        };
        let outcome = match (response.error, response.result) {
            (Some(error), _) => Err(fault_of(error)?),
            (None, Some(result)) => Ok(result),
            (None, None) => return Err("it has neither a result nor an error".to_owned()),
        };
        Ok(Self { id, outcome })
    }

    /// Whether it answers the request of this id. A server that could not read a request cannot name it.
    pub(crate) fn answers(&self, id: &str) -> bool {
        match &self.id {
            Id::Null => self.outcome.is_err(),
            Id::Given(raw) => json::str_of(raw).is_some_and(|given| given == id),
        }
    }
}

/// Why a body is no response.
#[cold]
fn no_response(misread: &Misread) -> String {
    match (misread.mistake, misread.field()) {
        (Mistake::Syntax, _) => format!("it {}", misread.problem),
        (_, Some(field)) => format!("its {field} {}", misread.problem),
        (_, None) => "it is no JSON object".to_owned(),
    }
}

/// What the error of a response says.
fn fault_of(error: &RawValue) -> Result<Fault, String> {
    let error: ErrorIn<'_> = read::read_part(error).map_err(|misread| match misread.field() {
        Some(field) => format!("its error.{field} {}", misread.problem),
        None => "its error is no object".to_owned(),
    })?;
    let code = error.code.and_then(number).ok_or("its error has no code")?;
    let message = error.message.and_then(json::str_of).unwrap_or_default();
    Ok(Fault::from_rpc(code, message, error.data))
}

fn invalid(why: &str) -> Fault {
    Fault::new(Kind::InvalidRequest, format!("invalid request: {why}"))
}

/// What is wrong with a body that is no request.
#[cold]
fn unreadable(body: &[u8], misread: &Misread) -> Fault {
    match (misread.mistake, misread.field()) {
        (Mistake::Syntax, _) => Fault::new(Kind::Parse, format!("the body {}", misread.problem)),
        (_, Some(field)) => invalid(&format!("{field} {}", misread.problem)),
        (_, None) if body.trim_ascii().starts_with(b"[") => {
            invalid("batches are not supported, send one request at a time")
        }
        (_, None) => invalid("it must be an object"),
    }
}

/// The response to a request, whose result `fill` appends.
pub(crate) fn write_result(id: &Id, fill: impl FnOnce(&mut String)) -> String {
    write_with(&Head::of(id), "result", fill)
}

/// The response to a request that went wrong.
pub(crate) fn write_error(version: Version, id: &Id, fault: &Fault) -> String {
    write_with(&Head::of(id), "error", |out| {
        append(out, &fault.rpc_error(version));
    })
}

/// What each response begins with.
#[derive(Debug, Serialize)]
struct Head<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
}

impl<'a> Head<'a> {
    fn of(id: &'a Id) -> Self {
        Self {
            jsonrpc: VERSION,
            id,
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Given(raw) => raw.serialize(serializer),
        }
    }
}

/// An object that begins with `head` and ends with a member that `fill` appends, which is not read again.
fn write_with(head: &impl Serialize, name: &str, fill: impl FnOnce(&mut String)) -> String {
    let mut out = String::with_capacity(CAPACITY);
    append(&mut out, head);
    // The brace that closes it.
    out.pop();
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    fill(&mut out);
    out.push('}');
    out
}
