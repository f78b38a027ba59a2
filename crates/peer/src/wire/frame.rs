//! The frames of a streamed answer (beyond the seed): one JSON object per line, from `accepted` to `result`
//! or `error`.
//!
//! `result` holds the answer, or says that the chunks are the answer. A stream that ends without `result` or
//! `error` has failed. `write.rs` keeps the lines short, `read.rs` parses a stream.

mod read;
mod write;

use jackfield_wire::{
    json::MAX_DEPTH,
    p2p::read_body,
    read::{FieldError, read_part},
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::read::{FrameReader, FrameStreamEnd};
pub use self::write::FrameWriter;
use super::{BodyLimits, Data, PeerErrorBody, PeerInputError};

/// Deepest nesting of a line: the line itself, and the object and the list that a hub puts around the JSON of
/// an agent.
const MAX_LINE_DEPTH: usize = MAX_DEPTH + 3;

/// Known types of frames.
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
        /// Id of the task.
        task_id: Option<String>,
    },
    /// A piece of the answer.
    Chunk {
        /// Number of the piece, from 0.
        seq: u64,
        /// Text or data of the piece.
        data: Data,
    },
    /// What the agent is doing; no part of the answer.
    Status {
        /// Kind of status, such as `thinking`; may be empty.
        kind: String,
        /// Text of the status.
        text: String,
    },
    /// The work is done.
    Result {
        /// The whole answer, repeated if there were chunks; `None` if the chunks are the answer.
        data: Option<Data>,
    },
    /// The work failed.
    Error(PeerErrorBody),
    /// The work continues.
    Heartbeat,
    /// A frame of a type that later versions add.
    Unknown,
}

impl Frame {
    /// Returns whether the frame is the last of its stream.
    pub fn is_last(&self) -> bool {
        matches!(self, Frame::Result { .. } | Frame::Error(_))
    }

    /// Returns whether a line claims to be a frame of a known type, valid or not.
    fn is_meant(line: &[u8], max_bytes: usize) -> bool {
        let tag = read_body::<Tag>(line, &limits(max_bytes));
        tag.is_ok_and(|tag| TYPES.contains(&&*tag.r#type))
    }

    /// Parses one line of at most `max_bytes`. Other programs write longer lines than we do.
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

/// The type of any frame.
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
