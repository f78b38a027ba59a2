//! What a caller says after its message.

use crate::{Answer, ITEM_OVERHEAD};

/// What a caller says after its message.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// More of a streamed message.
    Chunk(String),
    /// The streamed message is complete.
    EndOfMessage,
    /// The answer to a question, by the question's id.
    Answer(String, Answer),
}

impl Input {
    /// The size of the input in bytes.
    pub fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(text) => text.len(),
                Self::EndOfMessage => 0,
                Self::Answer(id, answer) => id.len() + answer.weight(),
            }
    }

    /// Appends `next` to this input, or gives it back if the two must stay apart.
    pub fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Chunk(last), Self::Chunk(next)) => {
                last.push_str(&next);
                None
            }
            (_, next) => Some(next),
        }
    }
}
