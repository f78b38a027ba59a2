//! What the events of a call add up to: the parts of one answer. There is a limit, and beyond it there is no answer.

use jackfield_core::{
    event::{Artifact, Chunk, ChunkKind, Done, Part},
    failure::{Failure, Reason},
    units::Size,
};

/// What came so far.
#[derive(Debug)]
pub(super) struct Gathered {
    limit: Size,
    room: usize,
    text: String,
    /// By their ids, in the order in which they began.
    artifacts: Vec<(String, Vec<Part>)>,
}

impl Gathered {
    /// Nothing yet; at most about so many bytes in all.
    pub(super) fn new(limit: Size) -> Self {
        Self {
            limit,
            room: limit.0,
            text: String::new(),
            artifacts: Vec::new(),
        }
    }

    /// A piece of the answer. What is no text is not part of it.
    pub(super) fn chunk(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        if chunk.kind == ChunkKind::Text {
            self.take(chunk.text.len())?;
            self.text.push_str(&chunk.text);
        }
        Ok(())
    }

    /// Something that the agent made, or more of it, with its weight in the pipe.
    pub(super) fn artifact(&mut self, new: Artifact, weight: usize) -> Result<(), Failure> {
        self.take(weight)?;
        match self.artifacts.iter_mut().find(|(id, _)| *id == new.id) {
            None => self.artifacts.push((new.id, new.parts)),
            Some((_, had)) if new.append => {
                for part in new.parts {
                    append(had, part);
                }
            }
            Some((_, had)) => *had = new.parts,
        }
        Ok(())
    }

    fn take(&mut self, weight: usize) -> Result<(), Failure> {
        match self.room.checked_sub(weight) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                let text = format!("the answer is larger than {}", self.limit);
                Err(Failure::new(Reason::TooLarge, text))
            }
        }
    }

    /// The words so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The answer as far as it came: the words, then what the agent made.
    pub(super) fn into_parts(self) -> Vec<Part> {
        let words = Some(self.text).filter(|text| !text.is_empty());
        let made = self.artifacts.into_iter().flat_map(|(_, parts)| parts);
        words.map(Part::Text).into_iter().chain(made).collect()
    }

    /// The whole answer.
    pub(super) fn finish(mut self, done: Done) -> Vec<Part> {
        // Agents that stream may repeat the whole at the end; others give it only there.
        if self.text.is_empty() {
            self.text = done.result.unwrap_or_default();
        }
        let mut parts = self.into_parts();
        parts.extend(done.attachments.into_iter().map(Part::File));
        parts
    }
}

/// Text goes on where text ended: an artifact that is streamed is one text, in however many pieces it came.
fn append(parts: &mut Vec<Part>, next: Part) {
    match (parts.last_mut(), next) {
        (Some(Part::Text(last)), Part::Text(next)) => last.push_str(&next),
        (_, next) => parts.push(next),
    }
}

#[cfg(test)]
mod tests {
    use jackfield_core::event::{File, FileSource, Json};

    use super::*;

    fn artifact(id: &str, parts: Vec<Part>, append: bool) -> Artifact {
        Artifact {
            id: id.into(),
            name: None,
            parts,
            append,
            last: false,
            extra: None,
        }
    }

    fn text(text: &str) -> Part {
        Part::Text(text.into())
    }

    fn file(name: &str) -> File {
        File {
            name: Some(name.into()),
            mime: None,
            source: FileSource::Uri("https://e/f".into()),
        }
    }

    #[test]
    fn an_answer_is_its_words_then_what_was_made_then_what_was_attached() {
        let mut gathered = Gathered::new(Size::kib(1));
        let data = Part::Data(Json::parse("[1]").unwrap());
        let made = artifact("a", vec![text("x"), data.clone()], false);
        gathered.artifact(made, 1).unwrap();
        gathered.chunk(&Chunk::text("he")).unwrap();
        gathered.chunk(&Chunk::status("busy")).unwrap();
        gathered.chunk(&Chunk::text("llo")).unwrap();
        let done = Done {
            result: Some("hello".into()),
            attachments: vec![file("f")],
            ..Done::default()
        };
        let wanted = [text("hello"), text("x"), data, Part::File(file("f"))];
        assert_eq!(gathered.finish(done), wanted);
    }

    #[test]
    fn an_answer_that_only_the_end_gives_is_heard() {
        let done = Done {
            result: Some("all".into()),
            ..Done::default()
        };
        assert_eq!(Gathered::new(Size::kib(1)).finish(done), [text("all")]);
        assert_eq!(Gathered::new(Size::kib(1)).finish(Done::default()), []);
    }

    #[test]
    fn pieces_of_an_artifact_are_joined_and_a_new_one_takes_the_place_of_the_old() {
        let mut gathered = Gathered::new(Size::kib(1));
        for (id, words, append) in [
            ("a", "o", false),
            ("b", "!", false),
            ("a", "n", true),
            ("a", "e", true),
            ("b", "?", false),
        ] {
            let made = artifact(id, vec![text(words)], append);
            gathered.artifact(made, 1).unwrap();
        }
        assert_eq!(gathered.into_parts(), [text("one"), text("?")]);
    }

    #[test]
    fn beyond_the_limit_there_is_no_answer() {
        let mut gathered = Gathered::new(Size(10));
        gathered.chunk(&Chunk::text("0123456789")).unwrap();
        let thinking = Chunk {
            kind: ChunkKind::Thinking,
            ..Chunk::text("as long as it likes")
        };
        gathered.chunk(&thinking).unwrap();
        let refused = gathered.chunk(&Chunk::text("x")).unwrap_err();
        assert_eq!(refused.reason, Reason::TooLarge);
        let made = artifact("a", vec![], false);
        assert!(gathered.artifact(made, 1).is_err());
    }
}
