//! The frames of a streamed answer (beyond the seed): one JSON object a line, from `accepted` to `result` or `error`.
//!
//! `result` holds the answer, or says that the chunks are it. A stream that ends without one of the two last frames has
//! failed. `write.rs` keeps the lines short, `read.rs` takes a stream apart.

mod read;
mod write;

use jackfield_wire::{
    json::MAX_DEPTH,
    p2p::read_body,
    read::{FieldError, read_part},
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::read::{FrameReader, Verdict};
pub use self::write::FrameWriter;
use super::{BodyLimits, Data, PeerErrorBody, PeerInputError};

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
    Error(PeerErrorBody),
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
        let tag = read_body::<Tag>(line, &limits(max_bytes));
        tag.is_ok_and(|tag| TYPES.contains(&&*tag.r#type))
    }

    /// Reads one line of at most `max_bytes`. Others write longer lines than we do.
    pub fn read(line: &[u8], max_bytes: usize) -> Result<Self, PeerInputError> {
        let raw: &RawValue = read_body(line, &limits(max_bytes))?;
        let tag: Tag = read_part(raw)?;
        Ok(match &*tag.r#type {
            "accepted" => {
                let Accepted { task_id } = read_part(raw)?;
                Frame::Accepted { task_id }
            }
            "chunk" => {
                let Chunk { seq, data } = read_part(raw)?;
                let data = data.ok_or_else(|| FieldError::missing("data"))?;
                Frame::Chunk { seq, data }
            }
            "status" => {
                let Status { kind, text } = read_part(raw)?;
                let kind = kind.unwrap_or_default();
                Frame::Status { kind, text }
            }
            "result" => {
                let Done { data } = read_part(raw)?;
                Frame::Result { data }
            }
            "error" => {
                let wrong = || {
                    PeerInputError::in_field(
                        "error",
                        "must be a string with a number `code` beside it",
                    )
                };
                Frame::Error(PeerErrorBody::read(raw).ok_or_else(wrong)?)
            }
            "heartbeat" => Frame::Heartbeat,
            _ => Frame::Unknown,
        })
    }
}

fn limits(max_bytes: usize) -> BodyLimits {
    BodyLimits {
        max_bytes,
        max_depth: MAX_LINE_DEPTH,
    }
}

/// A frame of any type.
#[derive(Deserialize)]
struct Tag {
    r#type: String,
}

#[derive(Deserialize)]
struct Accepted {
    task_id: Option<String>,
}

#[derive(Deserialize)]
struct Chunk {
    seq: u64,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Status {
    kind: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Done {
    data: Option<Data>,
}
