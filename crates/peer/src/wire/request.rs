//! The request of a handoff. The original's server refused all of them by a mistake of its own, so what is read here is
//! what its model declares and what its clients send.

use jackfield_wire::{
    p2p::{checked_text, read_body, read_params},
    read::{FieldError, read_part},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{BodyLimits, Data, MAX_PATH, Method, PathParams, PeerInputError};

/// The longest trace that is passed on; the standard's has 55 bytes.
const MAX_TRACE: usize = 128;

/// Work for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOff {
    /// What to do at the path.
    pub method: Method,
    /// The path, with `{name}` where a parameter goes; not checked before it was filled in.
    pub path: String,
    /// What goes into the path.
    pub params: PathParams,
    /// What to work on.
    pub input: Option<Data>,
    /// Whether the caller wants frames where it could get a plain body (beyond the seed).
    pub stream: bool,
    /// How many hubs it came through (beyond the seed).
    pub hops: u32,
    /// The trace it belongs to, as it was given (beyond the seed).
    pub trace: Option<String>,
}

impl HandOff {
    /// A request for a path.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        HandOff {
            method,
            path: path.into(),
            params: PathParams::new(),
            input: None,
            stream: false,
            hops: 0,
            trace: None,
        }
    }

    /// Reads a request.
    ///
    /// `input_data` may be any JSON, and `input` stands for it where it is missing, as the original's test client sends it.
    pub fn read(bytes: &[u8], limits: &BodyLimits) -> Result<Self, PeerInputError> {
        #[derive(Deserialize)]
        struct Body<'a> {
            method: String,
            path: String,
            #[serde(borrow)]
            params: Option<&'a RawValue>,
            input_data: Option<Data>,
            input: Option<Data>,
            stream: Option<bool>,
            x_hops: Option<u32>,
            #[serde(borrow)]
            traceparent: Option<&'a RawValue>,
        }
        let body: Body<'_> = read_body(bytes, limits)?;
        let method = Method::from_name(&body.method).map_err(|fault| fault.within("method"))?;
        if body.path.is_empty() {
            return Err(FieldError::missing("path").into());
        }
        if body.path.len() > MAX_PATH {
            return Err(PeerInputError::too_large(MAX_PATH, "bytes").within("path"));
        }
        let params = body.params.map(read_params).transpose();
        let params = params.map_err(|misread| misread.within("params"))?;
        // A trace that cannot be read is not passed on: the standard wants a new one begun instead.
        let trace = body.traceparent.and_then(|raw| read_part(raw).ok());
        Ok(HandOff {
            method,
            path: body.path,
            params: params.unwrap_or_default(),
            input: body.input_data.or(body.input).map(Data::unquoted),
            stream: body.stream.unwrap_or_default(),
            hops: body.x_hops.unwrap_or_default(),
            trace: trace.and_then(|trace| checked_text("traceparent", trace, MAX_TRACE).ok()),
        })
    }

    /// Writes the request. The input becomes a string, JSON as it is written, which is all that the original's model
    /// takes: a text that is an object or an array is therefore data when it is read again.
    pub fn to_json(&self) -> String {
        self.write(self.input.as_ref().map(Data::as_str))
    }

    /// The same for peers that answer in frames: the input is the JSON value that it is.
    pub fn to_framed_json(&self) -> String {
        self.write(self.input.as_ref())
    }

    fn write(&self, input_data: Option<impl Serialize>) -> String {
        #[derive(Serialize)]
        struct Body<'a, I> {
            method: Method,
            path: &'a str,
            params: &'a PathParams,
            input_data: Option<I>,
            #[serde(skip_serializing_if = "Option::is_none")]
            stream: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            x_hops: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            traceparent: Option<&'a str>,
        }
        let body = Body {
            method: self.method,
            path: &self.path,
            params: &self.params,
            input_data,
            stream: self.stream.then_some(true),
            x_hops: Some(self.hops).filter(|hops| *hops > 0),
            traceparent: self.trace.as_deref(),
        };
        // Texts and JSON cannot fail to be written.
        serde_json::to_string(&body).unwrap_or_default()
    }
}
