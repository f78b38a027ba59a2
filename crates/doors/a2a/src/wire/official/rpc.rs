//! The envelope of JSON-RPC: one request, one response, read and written from either side.
//!
//! A request without an id would be a notification, whose sender wants no answer. This protocol has none, so that it is refused
//! and not run: an answer that nobody can match to its request is lost.
//! Params are not looked at here, since the method comes first: `read_*` refuse what is no object.

use std::borrow::Cow;

use jackfield_wire::json::{self, Members, ObjectWriter, push_string};
use serde_json::value::RawValue;

use super::{
    Version,
    error::{Fault, Kind},
    fields::number,
    model::Raw,
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

    /// It as JSON.
    pub(crate) fn as_json(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Given(raw) => raw.get(),
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

impl Id {
    /// The id of a request that is refused whatever else it says; `null` if there is none to be read.
    pub(crate) fn read(body: &[u8]) -> Self {
        let members = serde_json::from_slice::<Members<'_>>(body).ok();
        let id = members.and_then(|members| member(&members, "id").ok()?.and_then(Self::of));
        id.unwrap_or_default()
    }
}

impl<'a> Call<'a> {
    /// Reads a body. With the error comes the id, as far as it could be read.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, (Id, Fault)> {
        let members = match serde_json::from_slice::<Members<'a>>(body) {
            Ok(members) => members,
            Err(error) => return Err((Id::Null, unreadable(body, &error))),
        };
        let id = member(&members, "id").and_then(|id| match id {
            None => Err(invalid(
                "id is missing: send a string or a number, which comes back with the answer",
            )),
            Some(raw) => Id::of(raw).ok_or_else(|| invalid("id must be a string or a number")),
        });
        let id = id.map_err(|fault| (Id::Null, fault))?;
        match Self::parts(&members) {
            Ok((method, params)) => Ok(Self { id, method, params }),
            Err(fault) => Err((id, fault)),
        }
    }

    fn parts(members: &Members<'a>) -> Result<(Cow<'a, str>, Option<&'a RawValue>), Fault> {
        let version = member(members, "jsonrpc")?.and_then(json::str_of);
        if version.as_deref() != Some(VERSION) {
            return Err(invalid("jsonrpc must be \"2.0\""));
        }
        let method = member(members, "method")?.and_then(json::str_of);
        let method = method.ok_or_else(|| invalid("method must be a string"))?;
        let params = member(members, "params")?.filter(|params| !json::is_null(params));
        Ok((method, params))
    }
}

/// A request, whose params `fill` appends.
pub(crate) fn write_call(id: &str, method: &str, fill: impl FnOnce(&mut String)) -> String {
    let mut out = String::with_capacity(CAPACITY);
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    push_string(&mut out, id);
    out.push_str(",\"method\":");
    push_string(&mut out, method);
    out.push_str(",\"params\":");
    fill(&mut out);
    out.push('}');
    out
}

/// What answers a request.
#[derive(Debug, Clone)]
pub(crate) struct Response<'a> {
    /// The id of the request.
    pub id: Id,
    /// What came of it, or what went wrong.
    pub outcome: Result<&'a RawValue, Fault>,
}

impl<'a> Response<'a> {
    /// Reads a body; the error says why it is no response, without a word of it.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, String> {
        let members = serde_json::from_slice::<Members<'a>>(body);
        let members = members.map_err(|_| no_object(body))?;
        if members.text("jsonrpc").as_deref() != Some(VERSION) {
            let is_naked = members.get("result").is_none() && members.get("error").is_none();
            return Err(if is_naked {
                "it has no envelope: each answer, and each data: of a stream, must be a whole JSON-RPC response".to_owned()
            } else {
                "jsonrpc must be \"2.0\"".to_owned()
            });
        }
        let id = match members.get("id") {
            None => Id::Null,
            Some(raw) => Id::of(raw).ok_or("its id is neither a string nor a number")?,
        };
        let outcome = match (members.get("error"), members.get("result")) {
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

/// Why a body is no object. The parser's own words for another kind of value would repeat it.
#[cold]
fn no_object(body: &[u8]) -> String {
    match serde_json::from_slice::<&RawValue>(body) {
        Ok(_) => "it is no JSON object".to_owned(),
        Err(error) => format!("it is no JSON: {error}"),
    }
}

/// What the error of a response says.
fn fault_of(error: &RawValue) -> Result<Fault, String> {
    let members = Members::of(error).ok_or("its error is no object")?;
    let code = members.get("code").and_then(number);
    let message = members.text("message").unwrap_or_default();
    let code = code.ok_or("its error has no code")?;
    Ok(Fault::from_rpc(code, message, members.get("data")))
}

/// The value of a member, which may be given only once.
fn member<'a>(members: &Members<'a>, name: &str) -> Result<Option<&'a RawValue>, Fault> {
    let mut found = members.iter().filter(|member| member.name == name);
    let value = found.next().map(|member| member.value);
    match found.next() {
        Some(_) => Err(invalid(&format!("{name} is given twice"))),
        None => Ok(value),
    }
}

fn invalid(why: &str) -> Fault {
    Fault::new(Kind::InvalidRequest, format!("invalid request: {why}"))
}

/// What is wrong with a body that is no object.
#[cold]
fn unreadable(body: &[u8], error: &serde_json::Error) -> Fault {
    // The parser stopped at the first byte that cannot begin an object; what follows it may be no JSON at all.
    match serde_json::from_slice::<&RawValue>(body) {
        Ok(raw) if json::is_array(raw) => {
            invalid("batches are not supported, send one request at a time")
        }
        Ok(_) => invalid("it must be an object"),
        Err(_) => Fault::new(Kind::Parse, format!("the body is not JSON: {error}")),
    }
}

/// The response to a request, whose result `fill` appends.
pub(crate) fn write_result(id: &Id, fill: impl FnOnce(&mut String)) -> String {
    let mut out = opening(id);
    out.push_str(",\"result\":");
    fill(&mut out);
    out.push('}');
    out
}

/// The response to a request that went wrong.
pub(crate) fn write_error(version: Version, id: &Id, fault: &Fault) -> String {
    let mut out = opening(id);
    out.push_str(",\"error\":");
    let mut object = ObjectWriter::open(&mut out);
    fault.put_rpc(version, &mut object);
    object.close();
    out.push('}');
    out
}

/// The start of a response, up to its id.
fn opening(id: &Id) -> String {
    let mut out = String::with_capacity(CAPACITY);
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    out.push_str(id.as_json());
    out
}
