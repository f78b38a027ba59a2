//! The text of a reply, joined from its events.

use crate::{ChunkKind, Event, StreamedText};

/// Joins the text of a reply. The result at the end of a turn adds the part beyond the text that was streamed
/// during that turn.
#[derive(Debug, Default)]
pub(crate) struct JoinedText {
    text: String,
    /// Text of the current turn. A followed task may have several turns.
    turn: StreamedText,
}

impl JoinedText {
    /// Adds the text of an [`Event`], if any.
    pub(crate) fn add(&mut self, event: &Event) {
        match event {
            Event::Chunk(chunk) if chunk.kind == ChunkKind::Text => {
                self.turn.push(&chunk.text);
                self.text.push_str(&chunk.text);
            }
            Event::Done(done) => {
                let turn = std::mem::take(&mut self.turn);
                let result = done.result.as_deref().unwrap_or_default();
                self.text.push_str(turn.rest_of(result));
            }
            _ => {}
        }
    }

    /// Returns the joined text.
    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chunk, Done};

    #[test]
    fn the_result_of_each_turn_adds_what_was_not_streamed_in_it() {
        let mut text = JoinedText::default();
        for (streamed, result) in [("one", "one"), ("", ", two"), (", ", ", three")] {
            text.add(&Event::Chunk(Chunk::text(streamed)));
            text.add(&Event::Chunk(Chunk::status("busy")));
            text.add(&Event::Done(Done {
                result: Some(result.into()),
                ..Done::default()
            }));
        }
        assert_eq!(text.into_string(), "one, two, three");
    }
}
