//! Fold of a task's log into the task at a position of the log.

use jackfield_core::{
    store::{LogItem, TaskRecord, TaskState},
    task::{Cursor, TaskItem},
};
use jackfield_model as event;
use jackfield_model::{Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Failure};
use jiff::Timestamp;

use super::{
    failure::state_of_failure,
    renderer::QUESTION,
    translate::{answer_to, artifact_from, artifact_to, chunk_artifact, message_to, metadata},
};
use crate::wire::official::model::{
    A2aState, A2aStatus, Artifact, Extra, Message, Part, PartContent, Role, Task,
};

/// Ids of a task, in the caller's form.
#[derive(Debug, Clone)]
pub(super) struct TaskIds {
    pub(super) task: String,
    pub(super) context: String,
}

impl TaskIds {
    /// Takes the ids from a task's record.
    pub(super) fn of(record: &TaskRecord) -> Self {
        Self {
            task: record.id.to_string(),
            context: record.session.to_string(),
        }
    }

    /// Builds a message of the agent. `place` makes the message id, so that all readers see the same id.
    pub(super) fn agent_message(&self, place: &str, parts: Vec<Part>) -> Message {
        Message {
            context_id: Some(self.context.clone()),
            task_id: Some(self.task.clone()),
            ..Message::new(format!("{}-{place}", self.task), Role::Agent, parts)
        }
    }

    /// Builds the message that explains a failed turn.
    pub(super) fn failure_message(&self, turn: usize, failure: &Failure) -> Message {
        let parts = vec![Part::text(failure.text.clone())];
        Message {
            metadata: metadata([("failure", Some(failure.reason.name()))]),
            ..self.agent_message(&numbered("end", turn), parts)
        }
    }

    /// Builds the message with a question of the agent.
    pub(super) fn question_message(&self, ask: &Ask) -> Message {
        let mut parts = vec![Part::text(ask.text.clone())];
        let details = ask.schema.as_ref().or(ask.arguments.as_ref());
        parts.extend(details.map(|json| Part::new(PartContent::Data(json.raw().to_owned()))));
        let kind = match ask.kind {
            AskKind::Input => "input",
            AskKind::Approval => "approval",
        };
        Message {
            metadata: metadata([
                ("kind", Some(kind)),
                ("askId", Some(&ask.id)),
                ("toolName", ask.tool_name.as_deref()),
                ("toolCallId", ask.tool_call_id.as_deref()),
            ]),
            ..self.agent_message(&format!("ask-{}", ask.id), parts)
        }
    }
}

/// Returns the id of the artifact with the agent's text of a turn. The first turn is 1.
pub(super) fn reply_id(turn: usize) -> String {
    numbered("reply", turn)
}

/// Returns the artifact for the agent's text of a turn, without parts.
pub(super) fn reply(turn: usize) -> Artifact {
    Artifact {
        name: Some("reply".to_owned()),
        ..bare(reply_id(turn))
    }
}

/// Returns true if `id` is the id of a turn's text artifact, see [`reply_id`].
pub(super) fn is_reply(id: &str) -> bool {
    let turn = id.strip_prefix("reply");
    turn.is_some_and(|turn| turn.is_empty() || turn.starts_with('-'))
}

/// Returns the id of the artifact with the files that came with the end of a turn.
pub(super) fn attachments_id(turn: usize) -> String {
    numbered("attachments", turn)
}

fn numbered(name: &str, turn: usize) -> String {
    if turn <= 1 {
        name.to_owned()
    } else {
        format!("{name}-{turn}")
    }
}

/// Formats a time as the protocol writes times.
pub(super) fn format_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Returns the time since which a task is working, if the agent's first event came at `at`. A record has the
/// delivery time of the last turn only; for an earlier turn the result is `at`.
pub(super) fn working_since(sent_at: Option<Timestamp>, at: Timestamp) -> Timestamp {
    sent_at.filter(|sent_at| *sent_at <= at).unwrap_or(at)
}

/// Returns the protocol's state of a task's record.
pub(super) fn state_from(record: &TaskRecord) -> A2aState {
    match (record.state, &record.failure) {
        (TaskState::Failed, Some(failure)) => state_of_failure(&failure.reason),
        (TaskState::InputRequired, _) if record.needs_auth => A2aState::AuthRequired,
        (state, _) => state_of(state),
    }
}

fn state_of(state: TaskState) -> A2aState {
    match state {
        TaskState::Submitted => A2aState::Submitted,
        TaskState::Working => A2aState::Working,
        TaskState::InputRequired => A2aState::InputRequired,
        TaskState::Completed => A2aState::Completed,
        TaskState::Failed => A2aState::Failed,
        TaskState::Cancelled => A2aState::Canceled,
        TaskState::Rejected => A2aState::Rejected,
    }
}

/// Returns the state of a task after a turn ended with `end`.
pub(super) fn state_after(end: &End) -> A2aState {
    match end {
        End::Done(done) => match done.state {
            DoneState::Completed => A2aState::Completed,
            DoneState::InputRequired if done.needs_auth => A2aState::AuthRequired,
            DoneState::InputRequired => A2aState::InputRequired,
            DoneState::Rejected => A2aState::Rejected,
        },
        End::Failed(failure) => state_of_failure(&failure.reason),
        End::Cancelled => A2aState::Canceled,
    }
}

/// Task at a position of its log.
#[derive(Debug)]
pub(super) struct TaskSnapshot {
    pub(super) names: TaskIds,
    /// True if the caller also receives questions for approval.
    pub(super) approvals_to_caller: bool,
    /// Bytes that may still be added.
    room: usize,
    is_cut: bool,
    pub(super) turn: usize,
    /// Agent's text in the current turn.
    pub(super) words: String,
    /// Artifacts that contain the text of the current turn, without their parts.
    pub(super) voices: Vec<Artifact>,
    history: Vec<Message>,
    artifacts: Vec<event::Artifact>,
    pub(super) state: A2aState,
    /// Time of the last change of the state.
    since: Option<Timestamp>,
    /// Delivery time of the message of the task's last turn.
    sent_at: Option<Timestamp>,
    message: Option<Message>,
    /// Ids of the open questions to the caller.
    pub(super) asks: Vec<String>,
    /// True if the last turn ended with a message in place of a task.
    is_message: bool,
}

impl TaskSnapshot {
    /// Creates an empty task that holds at most about `room` bytes.
    pub(super) fn new(record: &TaskRecord, approvals_to_caller: bool, room: usize) -> Self {
        Self {
            names: TaskIds::of(record),
            approvals_to_caller,
            room,
            is_cut: false,
            turn: 0,
            words: String::new(),
            voices: Vec::new(),
            history: Vec::new(),
            artifacts: Vec::new(),
            state: A2aState::Submitted,
            since: None,
            sent_at: record.sent_at,
            message: None,
            asks: Vec::new(),
            is_message: false,
        }
    }

    /// Applies the current record, which has more than the log: delivery of the message to the agent, and the
    /// state of a task whose log is not stored.
    pub(super) fn apply_record(&mut self, record: &TaskRecord) {
        if self.turn == 0 {
            self.state = state_from(record);
            let failure = record.failure.as_ref();
            self.message = failure.map(|failure| self.names.failure_message(0, failure));
        } else if self.state == A2aState::Submitted && record.state == TaskState::Working {
            self.state = A2aState::Working;
        }
        if self.state == state_from(record) {
            self.since = Some(record.updated_at);
        }
    }

    /// Marks the current turn as working: the agent has the message.
    pub(super) fn mark_working(&mut self) {
        if self.turn > 0 && self.state == A2aState::Submitted {
            self.state = A2aState::Working;
        }
    }

    /// Returns true if the agent waits for the caller.
    pub(super) fn is_interrupted(&self) -> bool {
        self.state.is_interrupted()
    }

    /// Adds an item from a subscription to the log. Returns the cursor of the next item.
    pub(super) fn take(&mut self, item: TaskItem) -> Cursor {
        match item {
            TaskItem::Row { next, at, item } => {
                self.add(item, at);
                next
            }
            TaskItem::Gap { next } => {
                self.is_cut = true;
                next
            }
        }
    }

    /// Adds the next log item, written at `at`.
    pub(super) fn add(&mut self, item: LogItem, at: Timestamp) {
        let before = self.state;
        let is_said = match &item {
            LogItem::Message(_) | LogItem::End(_) => true,
            LogItem::Event(Event::Ask(ask)) => self.asks_caller(ask),
            LogItem::Event(_) | LogItem::Answer(..) => false,
        };
        self.apply_item(item);
        if before == A2aState::Submitted && self.state == A2aState::Working {
            self.since = Some(working_since(self.sent_at, at));
        } else if is_said || before != self.state {
            self.since = Some(at);
        }
    }

    /// Returns true if an item fits; an item without room is left out. The end of a turn always fits.
    pub(super) fn has_room_for(&self, item: &LogItem) -> bool {
        item.weight() <= self.room || matches!(item, LogItem::End(_))
    }

    /// Returns true if the caller may answer the question.
    fn asks_caller(&self, ask: &Ask) -> bool {
        ask.kind == AskKind::Input || self.approvals_to_caller
    }

    fn apply_item(&mut self, item: LogItem) {
        if !self.has_room_for(&item) {
            self.is_cut = true;
            return;
        }
        self.room = self.room.saturating_sub(item.weight());
        match item {
            LogItem::Message(message) => self.begin(message),
            LogItem::Event(Event::Chunk(chunk)) => self.chunk(&chunk),
            LogItem::Event(Event::Artifact(artifact)) => self.artifact(artifact),
            LogItem::Event(Event::Ask(ask)) => {
                if self.asks_caller(&ask) {
                    let message = self.names.question_message(&ask);
                    self.history.push(message.clone());
                    self.message = Some(message);
                    self.state = A2aState::InputRequired;
                    self.asks.push(ask.id);
                }
            }
            LogItem::Answer(ask, answer) => {
                let message = answer_to(answer, format!("{}-answer-{ask}", self.names.task));
                self.history.push(self.shown(message));
                self.asks.retain(|open| *open != ask);
                self.work();
            }
            LogItem::End(end) => self.end(end),
        }
    }

    fn in_task(&self, message: Message) -> Message {
        Message {
            context_id: Some(self.names.context.clone()),
            task_id: Some(self.names.task.clone()),
            ..message
        }
    }

    fn begin(&mut self, message: event::Message) {
        self.turn += 1;
        self.words.clear();
        self.voices.clear();
        self.asks.clear();
        self.is_message = false;
        self.message = None;
        self.state = A2aState::Submitted;
        let id = format!("{}-message-{}", self.names.task, self.turn);
        let message = self.shown(message_to(message, id));
        self.history.push(message);
    }

    /// Returns the caller's message as a message of the task. Unknown fields are removed: they are meant for
    /// agents of this protocol, and strict readers of the task would reject them.
    fn shown(&self, message: Message) -> Message {
        let mut message = self.in_task(message);
        message.extra = Extra::new();
        for part in &mut message.parts {
            part.extra = Extra::new();
        }
        message
    }

    /// Sets the state to working, unless the task waits for an answer of the caller.
    fn work(&mut self) {
        if self.asks.is_empty() {
            self.state = A2aState::Working;
            self.message = None;
        }
    }

    fn chunk(&mut self, chunk: &Chunk) {
        self.work();
        if chunk.kind == ChunkKind::Text {
            let voice = chunk_artifact(chunk).unwrap_or_else(|| reply(self.turn));
            self.append_text(voice, &chunk.text);
        }
    }

    /// Appends text to an artifact. The first text of a turn replaces the artifact.
    fn append_text(&mut self, voice: Artifact, text: &str) {
        if text.is_empty() {
            return;
        }
        self.words.push_str(text);
        let piece = if self.voices.iter().any(|had| had.id == voice.id) {
            event::Artifact::new(voice.id).append()
        } else {
            self.voices.push(voice.clone());
            artifact_from(voice, false, true)
        };
        self.add_artifact(piece.text(text));
    }

    fn artifact(&mut self, piece: event::Artifact) {
        self.work();
        self.add_artifact(piece);
    }

    fn add_artifact(&mut self, piece: event::Artifact) {
        event::Artifact::merge_into(&mut self.artifacts, piece);
    }

    fn end(&mut self, end: End) {
        self.asks.clear();
        self.state = state_after(&end);
        self.message = None;
        match end {
            End::Done(done) => self.done(*done),
            End::Failed(failure) => {
                self.flush_text();
                self.message = Some(self.names.failure_message(self.turn, &failure));
            }
            End::Cancelled => drop(self.flush_text()),
        }
    }

    fn done(&mut self, done: Done) {
        self.is_message = done.is_message;
        let result = done.result.unwrap_or_default();
        match result.strip_prefix(self.words.as_str()) {
            None | Some("") => {}
            Some(rest) if self.state == A2aState::Completed || result.len() > QUESTION => {
                let voice = self.voices.last().cloned();
                self.append_text(voice.unwrap_or_else(|| reply(self.turn)), rest);
            }
            // A question or a reason for rejection appears once, in the status.
            Some(rest) => self.words.push_str(rest),
        }
        let words = self.flush_text();
        if !done.attachments.is_empty() {
            let files = done.attachments.into_iter().map(event::Part::File);
            self.add_artifact(event::Artifact {
                parts: files.collect(),
                ..event::Artifact::new(attachments_id(self.turn)).name("attachments")
            });
        }
        // The last text is the question, or the reason for rejection.
        if self.state != A2aState::Completed {
            self.message = words;
        }
    }

    /// Moves the text of the turn into the history as a message of the agent.
    fn flush_text(&mut self) -> Option<Message> {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return None;
        }
        let place = reply_id(self.turn);
        let message = self.names.agent_message(&place, vec![Part::text(words)]);
        self.history.push(message.clone());
        Some(message)
    }

    /// Returns the artifact with this id, if present.
    pub(super) fn find_artifact(&self, id: &str) -> Option<Artifact> {
        let found = self.artifacts.iter().find(|artifact| artifact.id == id);
        found.cloned().map(artifact_to)
    }

    /// Returns the answer as a message, if the agent answered with a message in place of a task. The message
    /// names its task, which the hub stores and lists like every other task.
    pub(super) fn as_message(&self) -> Option<Message> {
        let last = self.history.last().filter(|_| self.is_message);
        last.filter(|message| message.role == Role::Agent).cloned()
    }

    /// Builds the protocol's [`Task`] with as many messages and artifacts as `shown` selects.
    pub(super) fn into_task(mut self, shown: TaskDetail) -> Task {
        let kept = shown.history.unwrap_or(usize::MAX).min(self.history.len());
        self.history.drain(..self.history.len() - kept);
        if !shown.artifacts {
            self.artifacts.clear();
        }
        Task {
            status: A2aStatus {
                message: self.message,
                timestamp: self.since.map(format_time),
                ..A2aStatus::new(self.state)
            },
            artifacts: self.artifacts.into_iter().map(artifact_to).collect(),
            history: self.history,
            metadata: metadata([("truncated", self.is_cut.then_some("true"))]),
            extra: Extra::new(),
            id: self.names.task,
            context_id: self.names.context,
        }
    }
}

/// Selection of a task's content.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskDetail {
    /// Number of latest messages to include; `None` includes all.
    pub(super) history: Option<usize>,
    /// True to include artifacts.
    pub(super) artifacts: bool,
}

/// Returns an artifact with only an id.
pub(super) fn bare(id: String) -> Artifact {
    Artifact {
        id,
        name: None,
        description: None,
        parts: Vec::new(),
        metadata: None,
        extensions: Vec::new(),
        extra: Extra::new(),
    }
}
