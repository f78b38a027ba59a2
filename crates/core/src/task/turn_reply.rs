//! [`TurnReply`]: the reply in a turn, for the callback of a task whose log is not kept.

use jackfield_model::{ChunkKind, End, Event};

use crate::store::LogItem;

/// Text and artifacts of a turn, as far as they fit. Other events are no part of the answer.
#[derive(Debug)]
pub(super) struct TurnReply {
    items: Vec<LogItem>,
    room: usize,
}

impl TurnReply {
    /// Creates an empty reply with room for so many bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            items: Vec::new(),
            room,
        }
    }

    pub(super) fn add(&mut self, item: &LogItem) {
        match item {
            LogItem::Event(Event::Chunk(chunk)) if chunk.kind == ChunkKind::Text => {
                let fits = chunk.text.floor_char_boundary(self.room);
                self.room -= fits;
                self.say(&chunk.text[..fits]);
            }
            LogItem::Event(Event::Artifact(_)) if item.weight() <= self.room => {
                self.room -= item.weight();
                self.items.push(item.clone());
            }
            LogItem::Event(_) | LogItem::Message(_) | LogItem::Answer(..) | LogItem::End(_) => {}
        }
    }

    fn say(&mut self, text: &str) {
        match self.items.last_mut() {
            _ if text.is_empty() => {}
            Some(LogItem::Event(Event::Chunk(last))) => last.text.push_str(text),
            _ => self.items.push(LogItem::Event(Event::text(text))),
        }
    }

    /// Returns the reply, with the end.
    pub(super) fn take(&mut self, end: End) -> Vec<LogItem> {
        self.items.push(LogItem::End(end));
        std::mem::take(&mut self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackfield_model::{Artifact, Chunk, Part};

    #[test]
    fn words_and_artifacts_are_kept_in_order_as_far_as_they_fit() {
        let artifact = |text: &str| {
            LogItem::Event(Event::Artifact(Artifact {
                id: "a".into(),
                name: None,
                parts: vec![Part::Text(text.into())],
                append: false,
                last: true,
                extra: None,
            }))
        };
        let text = |text: &str| LogItem::Event(Event::text(text));
        let small = artifact("x");
        let mut turn_reply = TurnReply::new(small.weight() + 8);
        turn_reply.add(&text("ab"));
        turn_reply.add(&text("cd"));
        turn_reply.add(&LogItem::Event(Event::Chunk(Chunk::status("busy"))));
        turn_reply.add(&small);
        turn_reply.add(&artifact("one too many"));
        turn_reply.add(&text("efgé"));
        turn_reply.add(&text("h"));
        let end = LogItem::End(End::Cancelled);
        let kept = turn_reply.take(End::Cancelled);
        assert_eq!(kept, [text("abcd"), small, text("efgh"), end]);
    }
}
