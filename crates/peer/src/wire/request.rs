//! The request of a handoff. A bug in the original's server made it refuse every request, so the fields
//! follow its declared model and what its clients send.

use jackfield_wire::{
    p2p::{checked_text, read_body, read_params},
    read::{FieldError, read_part},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{BodyLimits, Data, MAX_PATH, Method, PathParams, PeerInputError};

/// Longest trace that is passed on; the standard's has 55 bytes.
const MAX_TRACE: usize = 128;

/// A request for work at a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOff {
    /// Method at the path.
    pub method: Method,
    /// Path, with `{name}` for each parameter; checked only after the parameters are filled in.
    pub path: String,
    /// Parameters of the path.
    pub params: PathParams,
    /// Input of the work.
    pub input: Option<Data>,
    /// Whether the caller wants frames where it could get a plain body (beyond the seed).
    pub stream: bool,
    /// Number of hubs that the request has passed (beyond the seed).
    pub hops: u32,
    /// Trace of the request, as received (beyond the seed).
    pub trace: Option<String>,
}

impl HandOff {
    /// Creates a request for a path.
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
    /// `input_data` may be any JSON. `input` replaces a missing `input_data`, as the original's test client
    /// sends it.
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
        // An unreadable trace is not passed on: the standard wants a new one instead.
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

    /// Writes the request. The input becomes a string (JSON as written), the only form that the original's
    /// model accepts. Text that holds an object or an array is therefore data when read again.
    pub fn to_json(&self) -> String {
        self.write(self.input.as_ref().map(Data::as_str))
    }

    /// Writes the request for a peer that answers in frames: the input keeps its JSON type.
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
        // Texts and JSON always serialize.
        serde_json::to_string(&body).unwrap_or_default()
    }
}
