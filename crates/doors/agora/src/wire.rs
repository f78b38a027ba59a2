//! The Agora protocol: JSON text frames between agents and the hub that relays them (seed 000).
//!
//! [`uplink`] is what clients send, [`downlink`] what the hub sends, [`payload`] what queries and answers look like
//! inside. Each side is both read and written here, since the load generator is a client of the same protocol.
//!
//! Frames are written by derived types, and so are those read that are meant for the reader. A frame that the hub passes
//! on is not: [`Relay`] finds its fields in one pass, decodes none, and keeps their bytes.
//!
//! Beyond the seed: `register`, `list` and `ping` with their answers, `cancel` and `error` as relayed frames, and
//! `kind`, `tool_name`, `tool_call_id` on reply chunks. Unknown fields survive the hop from one agent to another.

use std::fmt;

use jackfield_wire::{json::MAX_DEPTH, read::Misread};

pub mod downlink;
mod fields;
mod frame;
pub mod payload;
#[cfg(test)]
mod tests;
pub mod uplink;

pub use downlink::{AgentEntry, Delivery, DeliveryKind, Downlink, ErrorFrame, parse_downlink};
pub use frame::{Chunk, Opening};
pub use payload::{
    Answer, AnswerBody, AnswerPayload, InputRequired, Payload, Query, QueryBody, QueryPayload,
    answer_of, opening_of, query_of,
};
pub use uplink::{List, Register, Relay, RelayKind, Uplink, parse, parse_with};

/// What the address of a call begins with, to which the agent that is called by another protocol replies. No agent may be
/// called so.
pub const CALL_PREFIX: &str = "call:";

/// How large the text of one chunk may be, in bytes of the frame: beyond it a sender should have streamed.
pub const MAX_CHUNK: usize = 1024 * 1024;

/// What a frame may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep a value may be nested.
    pub max_depth: usize,
    /// How large the text of a chunk may be, in bytes as it stands in the frame.
    pub max_chunk: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_depth: MAX_DEPTH,
            max_chunk: MAX_CHUNK,
        }
    }
}

/// What kind of mistake a malformed frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The text is no JSON object.
    Syntax,
    /// A field is missing, given twice, of the wrong type or nested too deeply.
    Invalid,
    /// The frame type is not one of the protocol's.
    Unsupported,
    /// A chunk is larger than allowed.
    TooLarge,
}

/// Why a frame was refused, with as much of it as an answer needs to name it.
///
/// What is repeated of the frame is cut to the length of an [`echo`](jackfield_wire::echo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What kind of mistake it is.
    pub fault: Fault,
    /// The field that is wrong, and what is wrong with it.
    pub misread: Box<Misread>,
    /// The frame's `type`, if it could be read.
    pub frame_type: Option<Box<str>>,
    /// The frame's `to`, if it could be read.
    pub to: Option<Box<str>>,
    /// The frame's `stream_id`, if it could be read.
    pub stream_id: Option<Box<str>>,
    /// The frame's `request_id`, if it could be read, at the top level or in the payload.
    pub request_id: Option<Box<str>>,
}

impl Malformed {
    /// The path of the wrong field; `None` if the frame itself is wrong.
    pub fn field(&self) -> Option<&str> {
        self.misread.field()
    }

    /// The `error` frame that tells the sender, under the given code.
    pub fn to_frame(&self, code: &str) -> String {
        let message = self.to_string();
        downlink::error(&ErrorFrame {
            to: self.to.as_deref().map(Into::into),
            stream_id: self.stream_id.as_deref().map(Into::into),
            request_id: self.request_id.as_deref().map(Into::into),
            field: self.field().map(Into::into),
            frame_type: self.frame_type.as_deref().map(Into::into),
            ..ErrorFrame::new(code, &message)
        })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.misread.fmt_frame(self.frame_type.as_deref(), f)
    }
}

impl std::error::Error for Malformed {}
