//! [`Transcript`]: the sum of a reply's events, as one text, a list of artifacts and the end. Every protocol that returns an answer in one piece uses this type, so that all protocols give the same answer.

use crate::{Artifact, Chunk, ChunkKind, Done, Event, Failure, ITEM_OVERHEAD, Part, Reason};

/// Maximum number of artifacts in a transcript. Each piece is searched among them, so the number bounds the
/// work.
const MAX_ARTIFACTS: usize = 1024;

/// The sum of an agent's events: the text of the current turn and the artifacts of all turns.
///
/// - Text chunks are joined. Thinking, tools, status lines and questions are not part of the answer.
/// - A final result adds the text that was not streamed before; see [`StreamedText`](crate::StreamedText).
/// - Artifacts keep the order of their first pieces; see [`Artifact::merge_into`].
/// - Text and artifacts together have at most `limit` bytes. An item over the limit is left out as a whole,
///   and [`is_truncated`](Self::is_truncated) returns true: for text until the turn ends, for artifacts,
///   which belong to all turns, for good.
#[derive(Debug, Clone)]
pub struct Transcript {
    limit: usize,
    used: usize,
    /// Whether text of the current turn is missing.
    lacks_text: bool,
    /// Whether artifacts are missing.
    lacks_artifacts: bool,
    text: String,
    artifacts: Vec<Artifact>,
    done: Done,
}

/// Error for an event over a limit of a [`Transcript`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Overflow {
    /// The answer has too many bytes.
    #[error("the answer has more than {0} bytes")]
    Bytes(usize),
    /// The answer has too many artifacts.
    #[error("the answer has more than {MAX_ARTIFACTS} artifacts")]
    Artifacts,
}

impl From<Overflow> for Failure {
    fn from(overflow: Overflow) -> Self {
        Self::new(Reason::TooLarge, overflow.to_string())
    }
}

impl Transcript {
    /// Creates an empty transcript of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            lacks_text: false,
            lacks_artifacts: false,
            text: String::new(),
            artifacts: Vec::new(),
            done: Done::default(),
        }
    }

    /// Begins the next turn of the same task. Text and end are reset and the text's bytes are free
    /// again; the artifacts stay.
    pub fn begin_turn(&mut self) {
        self.used -= self.text.len();
        self.text.clear();
        self.lacks_text = false;
        self.done = Done::default();
    }

    /// Adds an [`Event`]. After the first [`Overflow`] of a text no further text of the turn is added, and
    /// after the first of an artifact no further artifact, so that neither has gaps.
    pub fn add(&mut self, event: Event) -> Result<(), Overflow> {
        match event {
            Event::Chunk(chunk) => self.add_chunk(&chunk),
            Event::Artifact(artifact) => self.add_artifact(artifact),
            Event::Ask(_) => Ok(()),
        }
    }

    /// Adds a [`Chunk`] if its kind is [`ChunkKind::Text`], and ignores it otherwise.
    pub fn add_chunk(&mut self, chunk: &Chunk) -> Result<(), Overflow> {
        if chunk.kind == ChunkKind::Text {
            self.add_text(&chunk.text)?;
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) -> Result<(), Overflow> {
        let reserved = match self.lacks_text {
            true => Err(Overflow::Bytes(self.limit)),
            false => self.reserve(text.len()),
        };
        self.lacks_text = reserved.is_err();
        reserved?;
        self.text.push_str(text);
        Ok(())
    }

    /// Adds an [`Artifact`] or a piece of an artifact.
    pub fn add_artifact(&mut self, artifact: Artifact) -> Result<(), Overflow> {
        let reserved = match self.lacks_artifacts {
            true => Err(Overflow::Bytes(self.limit)),
            false => self.reserve(ITEM_OVERHEAD + artifact.weight()),
        };
        self.lacks_artifacts = reserved.is_err();
        reserved?;
        Artifact::merge_into(&mut self.artifacts, artifact);
        if self.artifacts.len() > MAX_ARTIFACTS {
            self.artifacts.pop();
            self.lacks_artifacts = true;
            return Err(Overflow::Artifacts);
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Overflow> {
        if bytes > self.limit - self.used {
            return Err(Overflow::Bytes(self.limit));
        }
        self.used += bytes;
        Ok(())
    }

    /// Ends the turn with the agent's [`Done`].
    pub fn finish(&mut self, mut done: Done) {
        if let Some(result) = done.result.take() {
            let rest = result.strip_prefix(&self.text).unwrap_or_default();
            // A rest that does not fit is left out, and marks the text as truncated.
            drop(self.add_text(rest));
        }
        self.done = done;
    }

    /// Marks the transcript as incomplete, for example because old events are no longer stored.
    pub fn mark_truncated(&mut self) {
        self.lacks_text = true;
        self.lacks_artifacts = true;
    }

    /// Returns whether text of the current turn, or an artifact of any turn, was over the limit or is
    /// missing.
    pub fn is_truncated(&self) -> bool {
        self.lacks_text || self.lacks_artifacts
    }

    /// Returns the text of the current turn.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the artifacts so far.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Returns the end of the turn. The `result` is removed, because it is part of the [text](Self::text).
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Returns the text, the artifacts and the end.
    pub fn into_inner(self) -> (String, Vec<Artifact>, Done) {
        (self.text, self.artifacts, self.done)
    }

    /// Returns the answer as one list: the text, the parts of the artifacts, the attached files.
    pub fn into_parts(self) -> Vec<Part> {
        let text = Some(self.text).filter(|text| !text.is_empty());
        let artifacts = self.artifacts.into_iter().flat_map(|made| made.parts);
        let attachments = self.done.attachments.into_iter().map(Part::File);
        let text = text.map(Part::Text).into_iter();
        text.chain(artifacts).chain(attachments).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArtifactExtra, Ask, AskKind, File, FileSource, Json};

    fn artifact(id: &str, parts: Vec<Part>, append: bool) -> Event {
        Event::Artifact(Artifact {
            id: id.into(),
            parts,
            append,
            ..Artifact::default()
        })
    }

    fn text(text: &str) -> Part {
        Part::Text(text.into())
    }

    fn result(text: &str) -> Done {
        Done {
            result: Some(text.into()),
            ..Done::default()
        }
    }

    fn transcript(events: impl IntoIterator<Item = Event>) -> Transcript {
        let mut transcript = Transcript::new(4096);
        for event in events {
            transcript.add(event).unwrap();
        }
        transcript
    }

    #[test]
    fn an_answer_is_its_text_then_the_artifacts_then_the_attachments() {
        let data = Part::Data(Json::parse("[1]").unwrap());
        let file = File {
            name: Some("f".into()),
            mime: None,
            source: FileSource::Uri("https://e/f".into()),
        };
        let ask = Ask {
            id: "q".into(),
            kind: AskKind::Input,
            text: "which?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        };
        let mut transcript = transcript([
            artifact("a", vec![text("x"), data.clone()], false),
            Event::text("he"),
            Event::Chunk(Chunk::status("busy")),
            Event::Ask(ask),
            Event::text("llo"),
        ]);
        transcript.finish(Done {
            attachments: vec![file.clone()],
            ..result("hello")
        });
        let parts = [text("hello"), text("x"), data, Part::File(file)];
        assert_eq!(transcript.into_parts(), parts);
    }

    #[test]
    fn a_result_adds_what_was_not_streamed() {
        for (streamed, end, wanted) in [
            ("", "all", "all"),
            ("all", "all", "all"),
            ("all", "all of it", "all of it"),
            ("all", "everything", "all"),
            ("all", "", "all"),
        ] {
            let mut transcript = transcript([Event::text(streamed)]);
            transcript.finish(result(end));
            assert_eq!(transcript.text(), wanted, "{streamed:?}, then {end:?}");
            assert_eq!(transcript.done().result, None);
        }
    }

    #[test]
    fn pieces_of_an_artifact_are_joined_and_a_whole_one_replaces_an_earlier_one() {
        let transcript = transcript([
            artifact("a", vec![text("o")], false),
            artifact("b", vec![text("!")], false),
            artifact("a", vec![text("n")], true),
            artifact("a", vec![text("e")], true),
            artifact("b", vec![text("?")], false),
        ]);
        assert_eq!(transcript.into_parts(), [text("one"), text("?")]);
    }

    #[test]
    fn parts_with_fields_of_their_own_are_not_joined_and_keep_them() {
        let piece = |parts: Vec<Part>, append, extra: &str| {
            let Event::Artifact(artifact) = artifact("a", parts, append) else {
                unreachable!();
            };
            Event::Artifact(Artifact {
                extra: ArtifactExtra::read(&Json::parse(extra).unwrap()).map(Box::new),
                ..artifact
            })
        };
        let transcript = transcript([
            piece(
                vec![text("one")],
                false,
                r#"{"metadata":{"a": 1},"description":"draft"}"#,
            ),
            artifact("a", vec![text(" two")], true),
            piece(
                vec![text("# three"), text("four")],
                true,
                r#"{"metadata":{"b":2.50},"parts":[[0,{"media_type":"text/markdown"}]]}"#,
            ),
            artifact("a", vec![text(" five")], true),
            piece(vec![], true, r#"{"description":"final"}"#),
        ]);
        let [made] = transcript.artifacts() else {
            panic!("{transcript:?}");
        };
        let parts = [text("one two"), text("# three"), text("four five")];
        assert_eq!(made.parts, parts);
        let extra = made.extra.as_ref().and_then(|extra| extra.to_json());
        let wanted = r#"{"description":"final","metadata":{"a":1,"b":2.50},"parts":[[1,{"media_type":"text/markdown"}]]}"#;
        assert_eq!(extra.unwrap().get(), wanted);
        // The log keeps it.
        let written = serde_json::to_string(made).unwrap();
        let read: Artifact = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }

    #[test]
    fn a_turn_has_its_own_text_and_end_and_the_artifacts_of_all_turns() {
        let mut transcript =
            transcript([Event::text("one"), artifact("a", vec![text("x")], false)]);
        transcript.finish(Done {
            stop_reason: Some("length".into()),
            ..Done::default()
        });
        transcript.begin_turn();
        assert_eq!(transcript.done().stop_reason, None);
        transcript.add(Event::text("two")).unwrap();
        assert_eq!(transcript.text(), "two");
        assert_eq!(transcript.artifacts().len(), 1);
    }

    #[test]
    fn the_text_of_an_earlier_turn_takes_no_room_from_the_next() {
        let mut transcript = Transcript::new(10);
        transcript.reserve(2).unwrap();
        for _ in 0..3 {
            transcript.begin_turn();
            transcript.add(Event::text("01234")).unwrap();
            transcript.finish(result("01234567"));
            assert_eq!(transcript.text(), "01234567");
        }
        assert!(!transcript.is_truncated());
        // What the caller reserved stays reserved.
        assert!(transcript.add(Event::text("8")).is_err());
    }

    #[test]
    fn a_turn_over_the_limit_truncates_only_itself() {
        let mut transcript = Transcript::new(10);
        transcript.add(Event::text("0123456789")).unwrap();
        assert!(transcript.add(Event::text("x")).is_err());
        assert!(transcript.is_truncated());
        transcript.begin_turn();
        assert!(!transcript.is_truncated());
        transcript.add(Event::text("two")).unwrap();
        assert_eq!(transcript.text(), "two");
    }

    #[test]
    fn a_missing_artifact_is_missing_in_later_turns_and_their_text_is_not() {
        let mut transcript = Transcript::new(200);
        let large = text(&"x".repeat(200));
        assert!(transcript.add(artifact("a", vec![large], false)).is_err());
        transcript.begin_turn();
        transcript.add(Event::text("two")).unwrap();
        assert_eq!(transcript.text(), "two");
        assert!(transcript.is_truncated());
        let rest = artifact("a", vec![text("rest")], true);
        assert!(transcript.add(rest).is_err(), "artifacts have no gaps");
    }

    #[test]
    fn artifacts_are_bounded_in_number() {
        let mut transcript = Transcript::new(usize::MAX);
        for id in 0..MAX_ARTIFACTS {
            transcript
                .add(artifact(&id.to_string(), vec![], false))
                .unwrap();
        }
        transcript
            .add(artifact("7", vec![text("more")], true))
            .unwrap();
        assert!(transcript.add(artifact("new", vec![], false)).is_err());
        assert_eq!(transcript.artifacts().len(), MAX_ARTIFACTS);
        assert!(transcript.is_truncated());
    }

    #[test]
    fn what_does_not_fit_is_left_out_whole_and_said() {
        let mut transcript = Transcript::new(10);
        transcript.add(Event::text("0123456789")).unwrap();
        let thinking = Chunk {
            kind: ChunkKind::Thinking,
            ..Chunk::text("as long as it likes")
        };
        transcript.add(Event::Chunk(thinking)).unwrap();
        assert!(!transcript.is_truncated());
        let overflow = transcript.add(Event::text("x")).unwrap_err();
        assert_eq!(Failure::from(overflow).reason, Reason::TooLarge);
        assert!(transcript.add(artifact("a", vec![], false)).is_err());
        assert!(transcript.is_truncated());
        transcript.finish(result("0123456789x"));
        assert_eq!(transcript.text(), "0123456789");
    }
}
