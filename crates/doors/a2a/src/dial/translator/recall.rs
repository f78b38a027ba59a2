//! State of [`AnswerTranslator`] rebuilt from the log, after a restart of the hub or after a turn that ended with a
//! login request. The log contains all forwarded content; each piece of text names its artifact.

use jackfield_core::store::LogItem;
use jackfield_model::{Artifact, Chunk, ChunkKind, End, Event};

use super::{AnswerTranslator, ArtifactKey, ForwardedContent};
use crate::official::translate::{artifact_to, chunk_artifact};

impl AnswerTranslator {
    /// Creates a translator for a remote that already works on the task.
    pub(in crate::dial) fn resumed(task: String, context: Option<String>) -> Self {
        Self {
            task: Some(task),
            context,
            is_recalled: true,
            ..Self::default()
        }
    }

    /// Applies the next log item: forwarded content, an answer, or the end of a turn.
    pub(in crate::dial) fn replay(&mut self, item: LogItem) {
        match item {
            LogItem::Event(Event::Chunk(chunk)) => self.recall_chunk(chunk),
            LogItem::Event(Event::Artifact(artifact)) => self.recall_artifact(&artifact),
            LogItem::Event(Event::Ask(_)) => {
                self.asks += 1;
                self.is_waiting = true;
            }
            // The answer may not have reached the remote. The question comes again in that case.
            LogItem::Answer(..) => self.is_waiting = false,
            // Artifacts belong to the whole task; all other state belongs to a single turn.
            LogItem::Message(_) => {
                self.asks = 0;
                self.is_waiting = false;
                self.has_spoken = false;
                self.told = None;
                self.recalled_reply = None;
            }
            LogItem::End(End::Done(done)) if done.needs_auth => {
                self.wanted_login = Some(done.result.unwrap_or_default());
            }
            LogItem::End(_) => {}
        }
    }

    fn recall_chunk(&mut self, chunk: Chunk) {
        if chunk.kind == ChunkKind::Text {
            self.has_spoken = true;
            match chunk_artifact(&chunk) {
                Some(artifact) => {
                    let had = self.recall_passed(&artifact.id);
                    had.is_words = true;
                    had.say(&chunk.text);
                }
                None => {
                    self.said.say(&chunk.text);
                    self.recalled_reply = Some(chunk.text);
                }
            }
            return;
        }
        self.told = Some(chunk.text);
    }

    fn recall_artifact(&mut self, artifact: &Artifact) {
        self.has_spoken = true;
        let parts = artifact_to(artifact.clone()).parts;
        let had = self.recall_passed(&artifact.id);
        had.add_parts(&parts, artifact.append);
    }

    fn recall_passed(&mut self, id: &str) -> &mut ForwardedContent {
        self.passed.entry(ArtifactKey::of(id)).or_default()
    }
}
