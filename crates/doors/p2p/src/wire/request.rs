//! The request of a handoff. The original's server refused all of them by a mistake of its own, so what is read here is
//! what its model declares and what its clients send.

use serde_json::value::RawValue;

use super::{Data, Fault, Limits, MAX_PATH, Method, Params, param};
use jackfield_wire::json::ObjectWriter;
use jackfield_wire::p2p::fields::{self, Fields, REQUIRED};

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
    pub params: Params,
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
            params: Params::new(),
            input: None,
            stream: false,
            hops: 0,
            trace: None,
        }
    }

    /// Reads a request.
    ///
    /// `input_data` may be any JSON, and `input` stands for it where it is missing, as the original's test client sends it.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, Fault> {
        let fields = Fields::of(fields::value(bytes, limits)?)?;
        let method = fields.require("method", |raw| Method::from_name(&fields::text(raw)?))?;
        let path = fields.require("path", read_path)?;
        // A trace that cannot be read is not passed on: the standard wants a new one begun instead.
        let trace = fields.read("traceparent", |raw| fields::word(raw, MAX_TRACE));
        Ok(HandOff {
            method,
            path,
            params: fields.read("params", param::read)?.unwrap_or_default(),
            input: fields.any_of(&["input_data", "input"], |raw| Ok(read_input(raw)))?,
            stream: fields.read("stream", fields::flag)?.unwrap_or_default(),
            hops: fields.read("x_hops", fields::number)?.unwrap_or_default(),
            trace: trace.ok().flatten(),
        })
    }

    /// Writes the request. The input becomes a string, JSON as it is written, which is all that the original's model
    /// takes: a text that is an object or an array is therefore data when it is read again.
    pub fn to_json(&self) -> String {
        self.write(|object, input| {
            object.text("input_data", input.as_str());
        })
    }

    /// The same for peers that answer in frames: the input is the JSON value that it is.
    pub fn to_framed_json(&self) -> String {
        self.write(|object, input| {
            object.raw("input_data", &input.to_value());
        })
    }

    fn write(&self, write_input: impl FnOnce(&mut ObjectWriter<'_>, &Data)) -> String {
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        object
            .text("method", self.method.name())
            .text("path", &*self.path)
            .raw("params", &param::to_json(&self.params));
        match &self.input {
            Some(input) => write_input(&mut object, input),
            None => {
                object.raw("input_data", RawValue::NULL);
            }
        }
        if self.stream {
            object.flag("stream", true);
        }
        if self.hops > 0 {
            object.number("x_hops", self.hops.into());
        }
        object.maybe_text("traceparent", self.trace.as_deref());
        object.close();
        out
    }
}

fn read_path(raw: &RawValue) -> Result<String, Fault> {
    let path = fields::text(raw)?;
    if path.is_empty() {
        return Err(Fault::here(REQUIRED));
    }
    if path.len() > MAX_PATH {
        return Err(Fault::too_large(MAX_PATH, "bytes"));
    }
    Ok(path.into_owned())
}

fn read_input(raw: &RawValue) -> Data {
    match Data::from_value(raw) {
        Data::Text(text) => Data::from_text(text),
        data @ Data::Json(_) => data,
    }
}
