//! [`Input`]: what a caller sends after the message that opened the call.

use crate::{Answer, ITEM_OVERHEAD};

/// A caller's input after the [`Message`](crate::Message) that opened the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The next piece of a streamed message.
    Chunk(String),
    /// The end of a streamed message.
    EndOfMessage,
    /// The [`Answer`] to a question, with the question's id.
    Answer(String, Answer),
}

impl Input {
    /// Returns the size of the input in bytes.
    pub fn weight(&self) -> usize {
        ITEM_OVERHEAD
            + match self {
                Self::Chunk(text) => text.len(),
                Self::EndOfMessage => 0,
                Self::Answer(id, answer) => id.len() + answer.weight(),
            }
    }

    /// Appends `next` to this input, or returns `next` if the two cannot be merged.
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
