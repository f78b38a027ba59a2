//! Renderer of a task's log as stream updates. All streams of a task carry equal updates: an update depends
//! on neither the reader nor the time of reading.

use jackfield_core::store::LogItem;
use jackfield_model::{Artifact, AskKind, Chunk, ChunkKind, Done, End, Event, StreamedText};
use jiff::Timestamp;

use super::{
    snapshot::{
        TaskIds, TaskSnapshot, attachments_id, bare, format_time, reply, reply_id, state_after,
        working_since,
    },
    translate::{artifact_to, chunk_artifact, file_to, metadata},
};
use crate::wire::official::model::{
    self, A2aState, A2aStatus, ArtifactUpdate, Extra, Message, Part, Raw, StatusUpdate, StreamItem,
};

/// Largest part of the agent's text that is repeated in the status with the question at the end of a turn, in
/// bytes. A longer question is also in the reply.
pub(super) const QUESTION: usize = 64 << 10;

/// Renderer of updates, from a position of a task's log.
#[derive(Debug)]
pub(super) struct UpdateRenderer {
    names: TaskIds,
    approvals_to_caller: bool,
    turn: usize,
    /// Artifacts that contain the agent's text of the turn, without their parts.
    voices: Vec<model::Artifact>,
    /// Start of the agent's text, at most [`QUESTION`] bytes.
    words: String,
    /// Digest of all text in the turn.
    streamed: StreamedText,
    /// State in the last update.
    state: A2aState,
    /// Time of the log item under translation.
    at: Timestamp,
    /// Delivery time of the message of the task's last turn.
    sent_at: Option<Timestamp>,
    /// Ids of the open questions to the caller.
    asks: Vec<String>,
}

impl UpdateRenderer {
    /// Creates a renderer that continues after the last log item of `snapshot`.
    pub(super) fn after(snapshot: &TaskSnapshot) -> Self {
        let mut renderer = Self {
            names: snapshot.names.clone(),
            approvals_to_caller: snapshot.approvals_to_caller,
            turn: snapshot.turn,
            voices: snapshot.voices.clone(),
            words: String::new(),
            streamed: StreamedText::default(),
            state: snapshot.state,
            at: Timestamp::UNIX_EPOCH,
            sent_at: None,
            asks: snapshot.asks.clone(),
        };
        renderer.remember(&snapshot.words);
        renderer
    }

    /// Returns the task's state as of the last update.
    pub(super) fn state(&self) -> A2aState {
        self.state
    }

    /// Sets the delivery time of the message of the task's last turn.
    pub(super) fn sent(&mut self, at: Option<Timestamp>) {
        self.sent_at = at;
    }

    /// Appends the updates for the next log item, which has position `pos` and time `at`.
    pub(super) fn render(
        &mut self,
        pos: u64,
        at: Timestamp,
        item: LogItem,
        out: &mut Vec<StreamItem>,
    ) {
        self.at = at;
        match item {
            LogItem::Message(_) => self.begin(),
            LogItem::Event(Event::Chunk(chunk)) => self.chunk(pos, chunk, out),
            LogItem::Event(Event::Artifact(artifact)) => self.artifact(artifact, out),
            LogItem::Event(Event::Ask(ask)) => {
                if ask.kind == AskKind::Input || self.approvals_to_caller {
                    let asked = self.names.question_message(&ask);
                    self.asks.push(ask.id);
                    out.push(self.status(A2aState::InputRequired, Some(asked), None));
                } else if self.asks.is_empty() {
                    let text = format!("waiting for approval by the agent's owner: {}", ask.text);
                    let said = self
                        .names
                        .agent_message(&pos.to_string(), vec![Part::text(text)]);
                    let kind = metadata([("kind", Some(ChunkKind::Status.name()))]);
                    out.push(self.status(A2aState::Working, Some(said), kind));
                }
            }
            LogItem::Answer(ask, _) => {
                self.asks.retain(|open| *open != ask);
                self.work(out);
            }
            LogItem::End(end) => self.end(end, out),
        }
    }

    /// Appends the update that the agent received the message at `at`.
    pub(super) fn render_working(&mut self, at: Timestamp, out: &mut Vec<StreamItem>) {
        self.at = at;
        self.work(out);
    }

    /// Appends an update to the working state, unless the task is working or waits for the caller.
    fn work(&mut self, out: &mut Vec<StreamItem>) {
        if self.state == A2aState::Working || !self.asks.is_empty() {
            return;
        }
        let since = match self.state {
            A2aState::Submitted => working_since(self.sent_at, self.at),
            _ => self.at,
        };
        out.push(self.status_since(since, A2aState::Working, None, None));
    }

    fn begin(&mut self) {
        self.turn += 1;
        self.voices.clear();
        self.words.clear();
        self.streamed = StreamedText::default();
        self.asks.clear();
        self.state = A2aState::Submitted;
    }

    fn remember(&mut self, words: &str) {
        self.streamed.push(words);
        let room = QUESTION.saturating_sub(self.words.len());
        self.words
            .push_str(&words[..words.floor_char_boundary(room)]);
    }

    fn chunk(&mut self, pos: u64, chunk: Chunk, out: &mut Vec<StreamItem>) {
        if chunk.kind != ChunkKind::Text {
            // A status holds one message. While the task waits for the caller, the message is the question.
            if !self.asks.is_empty() {
                return;
            }
            let kind = metadata([
                ("kind", Some(chunk.kind.name())),
                ("toolName", chunk.tool_name.as_deref()),
                ("toolCallId", chunk.tool_call_id.as_deref()),
            ]);
            let said = self
                .names
                .agent_message(&pos.to_string(), vec![Part::text(chunk.text)]);
            out.push(self.status(A2aState::Working, Some(said), kind));
            return;
        }
        self.work(out);
        if chunk.text.is_empty() {
            return;
        }
        let voice = chunk_artifact(&chunk).unwrap_or_else(|| reply(self.turn));
        self.render_text(voice, chunk.text, false, out);
    }

    /// Appends an update with a piece of a text artifact.
    fn render_text(
        &mut self,
        voice: model::Artifact,
        text: String,
        is_last: bool,
        out: &mut Vec<StreamItem>,
    ) {
        self.remember(&text);
        let append = self.voices.iter().any(|had| had.id == voice.id);
        if !append {
            self.voices.push(voice.clone());
        }
        let artifact = model::Artifact {
            parts: vec![Part::text(text)],
            ..voice
        };
        out.push(self.artifact_update(artifact, append, is_last));
    }

    fn artifact(&mut self, artifact: Artifact, out: &mut Vec<StreamItem>) {
        self.work(out);
        let (append, last) = (artifact.append, artifact.last);
        out.push(self.artifact_update(artifact_to(artifact), append, last));
    }

    fn end(&mut self, end: End, out: &mut Vec<StreamItem>) {
        // Every reader sees the working state, even for the fastest agent.
        if matches!(end, End::Done(_)) {
            self.work(out);
        }
        self.asks.clear();
        let state = state_after(&end);
        let (message, said) = match end {
            End::Done(done) => self.done(*done, state, out),
            End::Failed(failure) => (Some(self.names.failure_message(self.turn, &failure)), None),
            End::Cancelled => (None, None),
        };
        out.push(self.status(state, message, said));
    }

    fn done(
        &mut self,
        done: Done,
        state: A2aState,
        out: &mut Vec<StreamItem>,
    ) -> (Option<Message>, Option<Raw>) {
        let result = done.result.unwrap_or_default();
        match self.streamed.rest_of(&result) {
            "" => {}
            rest if state == A2aState::Completed || result.len() > QUESTION => {
                let voice = self.voices.last().cloned();
                let voice = voice.unwrap_or_else(|| reply(self.turn));
                self.render_text(voice, rest.to_owned(), true, out);
            }
            // A question or a reason for rejection appears once, in the status.
            rest => self.words.push_str(rest),
        }
        if !done.attachments.is_empty() {
            let artifact = model::Artifact {
                name: Some("attachments".to_owned()),
                parts: done.attachments.into_iter().map(file_to).collect(),
                ..bare(attachments_id(self.turn))
            };
            out.push(self.artifact_update(artifact, false, true));
        }
        let is_last_word = state != A2aState::Completed && !self.words.is_empty();
        let message = is_last_word.then(|| {
            let parts = vec![Part::text(self.words.clone())];
            self.names.agent_message(&reply_id(self.turn), parts)
        });
        let stop_reason = done.stop_reason.as_deref();
        (message, metadata([("stopReason", stop_reason)]))
    }

    /// Builds an update with an artifact or a piece of an artifact.
    pub(super) fn artifact_update(
        &self,
        artifact: model::Artifact,
        append: bool,
        last_chunk: bool,
    ) -> StreamItem {
        StreamItem::Artifact(Box::new(ArtifactUpdate {
            task_id: self.names.task.clone(),
            context_id: self.names.context.clone(),
            artifact,
            append,
            last_chunk,
            metadata: None,
            extra: Extra::new(),
        }))
    }

    fn status(
        &mut self,
        state: A2aState,
        message: Option<Message>,
        metadata: Option<Raw>,
    ) -> StreamItem {
        self.status_since(self.at, state, message, metadata)
    }

    fn status_since(
        &mut self,
        since: Timestamp,
        state: A2aState,
        message: Option<Message>,
        metadata: Option<Raw>,
    ) -> StreamItem {
        self.state = state;
        StreamItem::Status(Box::new(StatusUpdate {
            task_id: self.names.task.clone(),
            context_id: self.names.context.clone(),
            status: A2aStatus {
                message,
                timestamp: Some(format_time(since)),
                ..A2aStatus::new(state)
            },
            is_final: state.is_terminal() || state.is_interrupted(),
            metadata,
            extra: Extra::new(),
        }))
    }
}
