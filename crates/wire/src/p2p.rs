//! What more than one crate speaks of the protocols between peers (seed 003): the [`Card`] of a peer, and the only place
//! where [`path`]s are filled in, checked and taken apart. The rest lives in the p2p door.

use crate::json::MAX_DEPTH;

mod answer;
mod body;
mod card;
mod fault;
mod method;
mod param;
pub mod path;
#[cfg(test)]
mod tests;

pub use answer::{Answer, ErrorBody, ErrorFields, read_answer};
pub use body::{read_body, word};
pub use card::{Card, NoCard, Skill, read_card};
pub use fault::{Fault, code};
pub use method::Method;
pub use param::{Param, Params, read_params};

/// The largest card that is read: generous for schemas, harmless to keep for every peer.
pub const MAX_CARD: usize = 64 * 1024;

/// The largest card that should be written: one frame of the peers' multiplexer, so that a peer that reads once has it all.
pub const FIT_CARD: usize = 16 * 1024;

/// How many skills a card or a registration may have.
pub const MAX_SKILLS: usize = 64;

/// The longest path, filled in and encoded, with its query: what the servers of agents commonly take.
pub const MAX_PATH: usize = 8 * 1024;

/// The longest text of an error, in bytes: the rest of it is for the log of whoever failed.
pub const MAX_ERROR: usize = 4 * 1024;

/// The longest name, id or version, in bytes.
pub const MAX_NAME: usize = 256;

/// The longest description that is kept of a card or a skill, in bytes.
pub const MAX_DESCRIPTION: usize = 8 * 1024;

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
    pub const SMALL: Limits = Limits {
        max_bytes: MAX_CARD,
        max_depth: MAX_DEPTH,
    };
}

/// The start of `text` that fits into `max` bytes.
pub fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Whether a text has the form of a peer id: letters and digits, which all spellings of one are.
pub fn is_peer_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
