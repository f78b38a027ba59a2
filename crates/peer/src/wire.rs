//! The card and handoff protocols between peers (seed 003), and the bodies of the registry that peers are found in.
//!
//! A peer that opens a card stream gets a [`PeerCard`]. On a handoff stream it writes one [`HandOff`] and gets the plain body of
//! the answer, or `{"error", "code"}`, which [`read_answer`] tells apart. Nothing is framed: [`JsonEnd`] finds where a
//! request ends, since some peers never close their side. [`path`] is the only place where paths are filled in, checked
//! and taken apart.
//!
//! Beyond the seed: the frames of [`frame`], which a caller gets that asked for them, and in a request `stream`, `x_hops`
//! and `traceparent`, which the original ignores as it does every field that it does not know.

pub use jackfield_wire::p2p::{
    BodyLimits, CardError, MAX_CARD, MAX_DESCRIPTION, MAX_ERROR, MAX_NAME, MAX_PATH, MAX_SKILLS,
    MAX_WRITTEN_CARD, Method, PathParam, PathParams, PeerAnswer, PeerCard, PeerErrorBody,
    PeerInputError, PeerSkill, code, cut, path, read_answer, read_card,
};

mod data;
mod end;
pub mod frame;
pub mod multiaddr;
pub mod registry;
mod request;
#[cfg(test)]
mod tests;

pub use data::Data;
pub use end::JsonEnd;
pub use request::HandOff;

/// Protocol in which a peer sends its [`PeerCard`].
pub const PROTOCOL_CARD: &str = "/ai-agent/card/1.0.0";

/// Protocol in which a peer gets a [`HandOff`].
pub const PROTOCOL_HANDOFF: &str = "/ai-agent/handoff/1.0.0";

/// Protocol of handoffs that are answered in frames ([`frame`]) while the work continues.
pub const PROTOCOL_HANDOFF_STREAM: &str = "/ai-agent/handoff/1.1.0";

/// Most addresses of a registration.
pub const MAX_ADDRESSES: usize = 16;

/// Longest line of frames that is written, line break included.
pub const MAX_LINE: usize = 64 * 1024;
