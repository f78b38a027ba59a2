//! The frames of a streamed answer (beyond the seed): one JSON object a line, from `accepted` to `result` or `error`.
//!
//! `result` holds the answer, or says that the chunks are it. A stream that ends without one of the two last frames has
//! failed. `write.rs` keeps the lines short, `read.rs` takes a stream apart.

mod read;
mod write;

use serde_json::value::RawValue;

pub use self::read::{FrameReader, Verdict};
pub use self::write::FrameWriter;
use super::{Data, ErrorBody, Fault, Limits};
use jackfield_wire::json::MAX_DEPTH;
use jackfield_wire::p2p::fields::{self, Fields};

/// How deep a line may nest: itself, and what a hub puts around the JSON of an agent (an object, and a list in it).
const MAX_LINE_DEPTH: usize = MAX_DEPTH + 3;

/// The types of frames.
const TYPES: [&str; 6] = [
    "accepted",
    "chunk",
    "status",
    "result",
    "error",
    "heartbeat",
];

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The request was understood and the work begins.
    Accepted {
        /// The id under which it is known.
        task_id: Option<String>,
    },
    /// A piece of the answer.
    Chunk {
        /// Its number, from 0.
        seq: u64,
        /// What it adds.
        data: Data,
    },
    /// What the agent does meanwhile; no part of the answer.
    Status {
        /// Of which kind this is, such as `thinking`; may be empty.
        kind: String,
        /// What there is to say.
        text: String,
    },
    /// The work is done.
    Result {
        /// The whole answer, chunks or not; `None` if the chunks are it.
        data: Option<Data>,
    },
    /// The work failed.
    Error(ErrorBody),
    /// The work goes on.
    Heartbeat,
    /// A frame of a type that later versions have.
    Unknown,
}

impl Frame {
    /// Whether nothing follows it.
    pub fn is_last(&self) -> bool {
        matches!(self, Frame::Result { .. } | Frame::Error(_))
    }

    /// Whether a line says to be a frame of a type that we know, be it a good one or not.
    fn is_meant(line: &[u8], max_bytes: usize) -> bool {
        let limits = Limits {
            max_bytes,
            max_depth: MAX_LINE_DEPTH,
        };
        let fields = fields::value(line, &limits).and_then(Fields::of);
        let told = fields.and_then(|fields| {
            let told = fields.require("type", fields::text)?;
            Ok(TYPES.contains(&&*told))
        });
        told.unwrap_or_default()
    }

    /// Reads one line of at most `max_bytes`. Others write longer lines than we do.
    pub fn read(line: &[u8], max_bytes: usize) -> Result<Self, Fault> {
        let limits = Limits {
            max_bytes,
            max_depth: MAX_LINE_DEPTH,
        };
        let fields = Fields::of(fields::value(line, &limits)?)?;
        let text = |name| -> Result<Option<String>, Fault> {
            Ok(fields.read(name, fields::text)?.map(Into::into))
        };
        let data = |raw: &RawValue| Ok(Data::from_value(raw));
        Ok(match &*fields.require("type", fields::text)? {
            "accepted" => Frame::Accepted {
                task_id: text("task_id")?,
            },
            "chunk" => Frame::Chunk {
                seq: fields.require("seq", fields::number)?,
                data: fields.require("data", data)?,
            },
            "status" => Frame::Status {
                kind: text("kind")?.unwrap_or_default(),
                text: fields.require("text", fields::text)?.into(),
            },
            "result" => Frame::Result {
                data: fields.read("data", data)?,
            },
            "error" => {
                let error = ErrorBody::read(&fields);
                let wrong =
                    || Fault::at("error", "must be a string with a number `code` beside it");
                Frame::Error(error.ok_or_else(wrong)?)
            }
            "heartbeat" => Frame::Heartbeat,
            _ => Frame::Unknown,
        })
    }
}
