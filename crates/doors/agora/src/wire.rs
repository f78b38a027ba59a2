//! The Agora protocol: JSON text frames between agents and the relaying hub (seed 000).
//!
//! [`uplink`] holds the frames of clients, [`downlink`] the frames of the hub, [`payload`] the content of
//! queries and answers. Each side is both read and written here, because the load generator is a client of
//! the same protocol.
//!
//! Frames are written by derived types, and frames meant for the reader are read by derived types. A frame to
//! be passed on is different: [`Relay`] finds its fields in one pass, decodes none, and keeps their bytes.
//!
//! Beyond the seed: `register`, `list` and `ping` with their answers, `cancel` and `error` as relayed frames,
//! and `kind`, `tool_name`, `tool_call_id` on reply chunks. Unknown fields survive the relay from agent to
//! agent.

use std::fmt;

use jackfield_wire::{json::MAX_DEPTH, read::FieldError};

pub mod downlink;
mod fields;
mod frame;
pub mod payload;
mod relayed;
mod scan;
#[cfg(test)]
mod tests;
pub mod uplink;

pub use downlink::{
    AgentListEntry, AgoraDownlink, DeliveredFrame, DeliveryKind, ErrorFrame, parse_downlink,
};
pub use fields::ExtraField;
pub use frame::{FrameChunk, Opening};
pub use payload::{
    AnswerContent, AnswerPayload, FramePayload, InputRequired, ParsedAnswer, ParsedQuery,
    QueryContent, QueryPayload, answer_of, opening_of, query_of,
};
pub(crate) use relayed::schemas;
pub use uplink::{AgoraUplink, ListFrame, RegisterFrame, Relay, RelayKind, parse, parse_with};

/// Prefix of the address of a call, to which an agent replies when called through a different protocol. No
/// agent id may begin with this prefix.
pub const CALL_PREFIX: &str = "call:";

/// Maximum size of a chunk's text, in bytes of the frame: a longer text should have been streamed.
pub const MAX_CHUNK: usize = 1024 * 1024;

/// Limits on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// Maximum nesting depth of a value.
    pub max_depth: usize,
    /// Maximum size of a chunk's text, in bytes of the frame.
    pub max_chunk: usize,
}

impl Default for FrameLimits {
    fn default() -> Self {
        FrameLimits {
            max_depth: MAX_DEPTH,
            max_chunk: MAX_CHUNK,
        }
    }
}

/// The kind of error in a malformed frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameFault {
    /// The text is not a JSON object.
    Syntax,
    /// A field is missing, given twice, of the wrong type or nested too deeply.
    Invalid,
    /// The frame type is unknown to the protocol.
    Unsupported,
    /// A chunk is larger than allowed.
    TooLarge,
}

/// The reason why a frame was refused, with the fields that an error needs to identify the frame.
///
/// Values copied from the frame are truncated to the length of an [`echo`](jackfield_wire::echo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameError {
    /// Kind of the error.
    pub fault: FrameFault,
    /// Wrong field, and its error.
    pub misread: Box<FieldError>,
    /// `type` of the frame, if readable.
    pub frame_type: Option<Box<str>>,
    /// `to` of the frame, if readable.
    pub to: Option<Box<str>>,
    /// `stream_id` of the frame, if readable.
    pub stream_id: Option<Box<str>>,
    /// `request_id` of the frame, if readable, at the top level or in the payload.
    pub request_id: Option<Box<str>>,
}

impl FrameError {
    /// Returns the path of the wrong field, or `None` if the whole frame is wrong.
    pub fn field(&self) -> Option<&str> {
        self.misread.field()
    }

    /// Returns the [`ErrorFrame`] for the sender as text, with the given code.
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

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.misread.fmt_frame(self.frame_type.as_deref(), f)
    }
}

impl std::error::Error for FrameError {}
