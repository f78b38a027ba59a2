//! The Agora protocol: JSON text frames between agents and the hub that relays them (seed 000).
//!
//! [`uplink`] is what clients send, [`downlink`] what the hub sends, [`payload`] what queries and answers look like
//! inside. Each side is both read and written here, since the load generator is a client of the same protocol.
//!
//! Beyond the seed: `register`, `list` and `ping` with their answers, `cancel` and `error` as relayed frames, and
//! `kind`, `tool_name`, `tool_call_id` on reply chunks. Unknown fields survive the hop from one agent to another.

use std::fmt;

use crate::frame::write_mistake;

pub mod downlink;
mod fields;
mod frame;
pub mod payload;
#[cfg(test)]
mod tests;
pub mod uplink;

pub use crate::frame::{Fault, Limits, MAX_CHUNK};
pub use downlink::{AgentEntry, Delivery, DeliveryKind, Downlink, ErrorFrame, parse_downlink};
pub use frame::{Chunk, Opening};
pub use payload::{
    Answer, AnswerPayload, InputRequired, Payload, Query, QueryPayload, answer_of, opening_of,
    query_of,
};
pub use uplink::{List, Register, Relay, RelayKind, Uplink, parse, parse_with};

/// What the address of a call begins with, to which the agent that is called by another protocol replies. No agent may be
/// called so.
pub const CALL_PREFIX: &str = "call:";

/// Why a frame was refused, with as much of it as an answer needs to name it.
///
/// What is repeated of the frame is cut to the length of an [`echo`](crate::echo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What kind of mistake it is.
    pub fault: Fault,
    /// The frame's `type`, if it could be read.
    pub frame_type: Option<Box<str>>,
    /// The field that is wrong, if it is one.
    pub field: Option<Box<str>>,
    /// What is wrong, as the end of a sentence about the field or the frame.
    pub problem: String,
    /// The frame's `to`, if it could be read.
    pub to: Option<Box<str>>,
    /// The frame's `stream_id`, if it could be read.
    pub stream_id: Option<Box<str>>,
    /// The frame's `request_id`, if it could be read, at the top level or in the payload.
    pub request_id: Option<Box<str>>,
}

impl Malformed {
    /// The `error` frame that tells the sender, under the given code.
    pub fn to_frame(&self, code: &str) -> String {
        let message = self.to_string();
        downlink::error(&ErrorFrame {
            to: self.to.as_deref().map(Into::into),
            stream_id: self.stream_id.as_deref().map(Into::into),
            request_id: self.request_id.as_deref().map(Into::into),
            field: self.field.as_deref().map(Into::into),
            frame_type: self.frame_type.as_deref().map(Into::into),
            ..ErrorFrame::new(code, &message)
        })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frame_type, field) = (self.frame_type.as_deref(), self.field.as_deref());
        write_mistake(f, frame_type, field, &self.problem)
    }
}

impl std::error::Error for Malformed {}
