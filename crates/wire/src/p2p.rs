//! The card and handoff protocols between peers (seed 003), and the bodies of the registry that peers are found in.
//!
//! A peer that opens a card stream gets a [`Card`]. On a handoff stream it writes one [`HandOff`] and gets the plain body of
//! the answer, or `{"error", "code"}`, which [`read_answer`] tells apart. Nothing is framed: [`JsonEnd`] finds where a
//! request ends, since some peers never close their side. [`path`] is the only place where paths are filled in, checked
//! and taken apart.
//!
//! Beyond the seed: the frames of [`frame`], which a caller gets that asked for them, and in a request `stream`, `x_hops`
//! and `traceparent`, which the original ignores as it does every field that it does not know.

use crate::json::MAX_DEPTH;

mod answer;
mod card;
mod data;
mod end;
mod fault;
mod fields;
pub mod frame;
mod method;
pub mod multiaddr;
mod param;
pub mod path;
pub mod registry;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, ErrorBody, read_answer};
pub use card::{Card, NoCard, Skill, read_card};
pub use data::Data;
pub use end::JsonEnd;
pub use fault::{Fault, code};
pub use method::Method;
pub use param::{Param, Params};
pub use request::HandOff;

/// The protocol in which a peer says who it is and what it can do.
pub const PROTOCOL_CARD: &str = "/ai-agent/card/1.0.0";

/// The protocol in which work is handed to a peer.
pub const PROTOCOL_HANDOFF: &str = "/ai-agent/handoff/1.0.0";

/// The same, answered in frames while the work goes on.
pub const PROTOCOL_HANDOFF_STREAM: &str = "/ai-agent/handoff/1.1.0";

/// The largest card that is read: generous for schemas, harmless to keep for every peer.
pub const MAX_CARD: usize = 64 * 1024;

/// The largest card that should be written: one frame of the peers' multiplexer, so that a peer that reads once has it all.
pub const FIT_CARD: usize = 16 * 1024;

/// How many skills a card or a registration may have.
pub const MAX_SKILLS: usize = 64;

/// How many addresses a registration may have.
pub const MAX_ADDRESSES: usize = 16;

/// The longest path, filled in and encoded, with its query: what the servers of agents commonly take.
pub const MAX_PATH: usize = 8 * 1024;

/// The longest line of a stream of frames that is written, its line break included.
pub const MAX_LINE: usize = 64 * 1024;

/// The longest text of an error, in bytes: the rest of it is for the log of whoever failed.
pub const MAX_ERROR: usize = 4 * 1024;

/// The longest name, id or version, in bytes.
const MAX_NAME: usize = 256;

/// The longest description that is kept of a card or a skill, in bytes.
const MAX_DESCRIPTION: usize = 8 * 1024;

/// What a request may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes it may have, whitespace around it included.
    pub max_bytes: usize,
    /// How deep it may be nested.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_bytes: 1024 * 1024,
            max_depth: MAX_DEPTH,
        }
    }
}

impl Limits {
    /// Those of cards and of the registry's bodies.
    const SMALL: Limits = Limits {
        max_bytes: MAX_CARD,
        max_depth: MAX_DEPTH,
    };
}

/// The start of `text` that fits into `max` bytes.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
