//! Types of the protocols between peers (seed 003) that more than one crate uses: the [`PeerCard`] of a peer, and
//! the [`path`] module, the only place where paths are expanded, checked and parsed. The rest lives in the
//! p2p door.

use crate::json::MAX_DEPTH;

mod answer;
mod body;
mod card;
mod input_error;
mod method;
mod param;
pub mod path;
#[cfg(test)]
mod tests;

pub use answer::{PeerAnswer, PeerErrorBody, PeerErrorFields, read_answer};
pub use body::{checked_text, read_body};
pub use card::{CardError, PeerCard, PeerSkill, read_card};
pub use input_error::{PeerInputError, code};
pub use method::Method;
pub use param::{PathParam, PathParams, read_params};

/// Maximum size of a card when reading, in bytes: generous for schemas, small enough to store for every peer.
pub const MAX_CARD: usize = 64 * 1024;

/// Maximum size of a card when writing, in bytes: one frame of the peers' multiplexer, so that a peer that
/// reads once gets the whole card.
pub const MAX_WRITTEN_CARD: usize = 16 * 1024;

/// Maximum number of skills in a card or a registration.
pub const MAX_SKILLS: usize = 64;

/// Maximum length of a path, expanded and encoded, with its query: the limit of common HTTP servers.
pub const MAX_PATH: usize = 8 * 1024;

/// Maximum length of an error text, in bytes. The rest belongs in the log of the failing side.
pub const MAX_ERROR: usize = 4 * 1024;

/// Maximum length of a name, id or version, in bytes.
pub const MAX_NAME: usize = 256;

/// Maximum length of the stored description of a card or a skill, in bytes.
pub const MAX_DESCRIPTION: usize = 8 * 1024;

/// Limits of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Maximum size in bytes, including surrounding whitespace.
    pub max_bytes: usize,
    /// Maximum nesting depth.
    pub max_depth: usize,
}

impl Default for BodyLimits {
    fn default() -> Self {
        BodyLimits {
            max_bytes: 1024 * 1024,
            max_depth: MAX_DEPTH,
        }
    }
}

impl BodyLimits {
    /// The limits of cards and of the registry's bodies.
    pub const SMALL: BodyLimits = BodyLimits {
        max_bytes: MAX_CARD,
        max_depth: MAX_DEPTH,
    };
}

/// Returns the start of `text` that fits into `max` bytes.
pub fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Returns whether a text has the form of a peer id: letters and digits, as in all encodings of a peer id.
pub fn is_peer_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
