//! Translation of a remote's answers for the core: each item of a stream, in either version, becomes events,
//! a question or the end of the turn. After a disconnect, the remote sends the current task, and only the new
//! content is forwarded. After a restart of the hub, [`recall`] rebuilds the forwarded content from the log.

mod recall;

use std::collections::HashMap;

use jackfield_model as event;
use jackfield_model::{
    Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, Json, Reason,
};
use jackfield_wire::json::RawMembers;
use sha2::{Digest as _, Sha256};

use crate::official::translate::{artifact_from, chunk_of};
use crate::wire::official::model::{
    A2aState, A2aStatus, Artifact, ArtifactUpdate, Extra, Message, Part, PartContent, Raw, Role,
    StatusUpdate, StreamItem, Task,
};

/// Text that LangGraph's server puts into the status of every completed task.
const IT_WORKED: &str = "Task completed successfully";

/// Translated content of a remote's answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RemoteOutput {
    /// Event for the caller.
    Say(Event),
    /// Question of the remote to the caller.
    Ask(Ask),
    /// End of the turn. Always the last element.
    End(End),
}

/// Largest number of remembered artifacts per task, at about 200 bytes each. A server with more artifacts
/// fails the call, because the hub could no longer tell which content it has forwarded.
const MAX_ARTIFACTS: usize = 10_000;

/// Forwarded content of an artifact.
#[derive(Debug, Clone, Default)]
struct ForwardedContent {
    /// True if forwarded as text of the reply, false if forwarded as an artifact.
    is_words: bool,
    /// Length of the forwarded text in bytes; `hash` covers the same text. For an artifact that is not text,
    /// the text of its last part.
    length: usize,
    hash: Sha256,
    /// Number of forwarded parts, for an artifact that is not text. Adjacent plain texts count as one part: a
    /// server may join what it sent in pieces, as this hub does.
    parts: usize,
    /// True if the last of these parts is plain text.
    ends_in_text: bool,
}

impl ForwardedContent {
    /// Creates the entry of a text artifact, without forwarded text.
    fn words() -> Self {
        Self {
            is_words: true,
            ..Self::default()
        }
    }

    fn say(&mut self, text: &str) {
        self.length += text.len();
        self.hash.update(text);
    }

    /// Adds parts that are forwarded as an artifact: in place of the earlier content, or after it.
    fn add_parts(&mut self, parts: &[Part], append: bool) {
        if !append {
            *self = Self::default();
        } else if self.is_words && self.length > 0 {
            self.is_words = false;
            self.parts = 1;
            self.ends_in_text = true;
        }
        self.is_words = false;
        for part in parts {
            let text = plain_text(part);
            if text.is_none() || !self.ends_in_text {
                self.parts += 1;
                self.length = 0;
                self.hash = Sha256::new();
            }
            self.ends_in_text = text.is_some();
            self.say(text.unwrap_or_default());
        }
    }

    /// Returns the parts that were not forwarded yet.
    fn new_parts(&self, parts: Vec<Part>) -> Vec<Part> {
        let mut parts = joined(parts);
        let last = self.parts.checked_sub(1).filter(|_| self.ends_in_text);
        let rest = last
            .and_then(|last| plain_text(parts.get(last)?))
            .and_then(|text| self.rest(text))
            .filter(|rest| !rest.is_empty())
            .map(Part::text);
        let new = parts.split_off(self.parts.min(parts.len()));
        rest.into_iter().chain(new).collect()
    }

    /// Returns the part of `text` after the forwarded text; `None` if `text` does not begin with the
    /// forwarded text.
    fn rest<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (before, rest) = text.split_at_checked(self.length)?;
        let is_same = Sha256::digest(before) == self.hash.clone().finalize();
        is_same.then_some(rest)
    }
}

/// Key of an artifact: a digest of the id, because ids may have any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ArtifactKey([u8; 32]);

impl ArtifactKey {
    fn of(id: &str) -> Self {
        Self(Sha256::digest(id).into())
    }
}

/// Kind of the remote's answer to the last message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AnswerKind {
    /// No answer yet.
    #[default]
    Nothing,
    /// A single message, which is a complete answer.
    Message,
    /// Several messages: a reply streamed in pieces.
    Messages,
    /// A task, or updates of a task.
    Task,
}

/// Translator for the answers of a remote that works on one task.
#[derive(Debug, Default)]
pub(super) struct AnswerTranslator {
    task: Option<String>,
    context: Option<String>,
    passed: HashMap<ArtifactKey, ForwardedContent>,
    /// Forwarded reply text outside of artifacts.
    said: ForwardedContent,
    /// Last forwarded status text.
    told: Option<String>,
    /// Last reply text in the log outside of artifacts. The status of a completed task may repeat it.
    recalled_reply: Option<String>,
    /// True if the turn continues from the log, see [`recall`].
    is_recalled: bool,
    /// True if any content of the reply was forwarded.
    has_spoken: bool,
    /// Kind of answer since the last sent message.
    answered: AnswerKind,
    asks: usize,
    /// Candidate for the text of the next question: LangGraph's server puts the question into an artifact.
    question: Option<String>,
    is_waiting: bool,
    /// Id of the message with the open question.
    asked: Option<String>,
    /// Id of the message with the last answered question. Some servers repeat the old state of the task
    /// before they continue.
    settled: Option<String>,
    /// Text of the login request that ended the previous turn.
    wanted_login: Option<String>,
    /// Text of the login request, after the caller continued. A server may repeat the old state, as with
    /// questions.
    settled_login: Option<String>,
    is_over: bool,
}

impl AnswerTranslator {
    /// Returns the remote's task id, if known.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// Returns the remote's context id, if known.
    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns true if the remote waits for the caller.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Returns the id of the last question.
    pub(super) fn last_ask(&self) -> Option<String> {
        (self.asks > 0).then(|| format!("input-{}", self.asks))
    }

    /// Records that the caller answered the open question.
    pub(super) fn answered(&mut self) {
        self.is_waiting = false;
        self.settled = self.asked.take();
        self.settled_login = self.wanted_login.take();
    }

    /// Records that the delivery of the answer is unknown. The same question then counts as a new question.
    pub(super) fn mark_answer_undelivered(&mut self) {
        self.settled = None;
        self.settled_login = None;
    }

    /// Records that a message was sent: further items answer the message.
    pub(super) fn sent(&mut self) {
        self.answered = AnswerKind::Nothing;
    }

    /// Handles an orderly end of the stream. Returns the end of the turn only if the remote answered with
    /// messages, with or without a task id.
    pub(super) fn closed(&mut self) -> Option<End> {
        match self.answered {
            AnswerKind::Message | AnswerKind::Messages => self.end_in_message(),
            AnswerKind::Nothing | AnswerKind::Task => None,
        }
    }

    /// Handles a broken stream. Returns the end of the turn only after a single message, which is a complete
    /// answer.
    pub(super) fn cut(&mut self) -> Option<End> {
        match self.answered {
            AnswerKind::Message => self.end_in_message(),
            AnswerKind::Nothing | AnswerKind::Messages | AnswerKind::Task => None,
        }
    }

    fn end_in_message(&mut self) -> Option<End> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(End::Done(Box::new(Done {
            // A caller with an earlier question already knows of a task.
            is_message: self.asks == 0 && !self.is_recalled,
            ..Done::default()
        })))
    }

    /// Translates an [`StreamItem`]. Returns an empty list after the end of the task.
    pub(super) fn translate(&mut self, item: StreamItem) -> Vec<RemoteOutput> {
        let mut out = Vec::new();
        if self.is_over {
            return out;
        }
        self.answered = match (&item, self.answered) {
            (StreamItem::Message(_), AnswerKind::Nothing) => AnswerKind::Message,
            (StreamItem::Message(_), AnswerKind::Message | AnswerKind::Messages) => {
                AnswerKind::Messages
            }
            (
                StreamItem::Message(_)
                | StreamItem::Task(_)
                | StreamItem::Status(_)
                | StreamItem::Artifact(_),
                _,
            ) => AnswerKind::Task,
        };
        match item {
            StreamItem::Task(task) => self.sync_task(*task, &mut out),
            StreamItem::Message(message) => self.message(*message, &mut out),
            StreamItem::Status(update) => self.status_update(*update, &mut out),
            StreamItem::Artifact(update) => self.artifact_update(*update, &mut out),
        }
        if self.passed.len() > MAX_ARTIFACTS && !matches!(out.last(), Some(RemoteOutput::End(_))) {
            out.push(too_many());
        }
        self.is_over = matches!(out.last(), Some(RemoteOutput::End(_)));
        out
    }

    /// Records task and context of an item. An item of a different task ends the call, because its content
    /// cannot be attributed.
    fn check_task(&mut self, task: &str, context: &str, out: &mut Vec<RemoteOutput>) -> bool {
        if !context.is_empty() {
            self.context = Some(context.to_owned());
        }
        if task.is_empty() {
            return true;
        }
        let known = self.task.get_or_insert_with(|| task.to_owned());
        if known == task {
            return true;
        }
        let text = format!("the remote agent answered for task {task} instead of {known}");
        out.push(invalid_answer(text));
        false
    }

    fn sync_task(&mut self, task: Task, out: &mut Vec<RemoteOutput>) {
        if !self.check_task(&task.id, &task.context_id, out) {
            return;
        }
        for artifact in task.artifacts {
            self.catch_up(artifact, out);
        }
        let mut status = task.status;
        if self.passed.is_empty() && status.state == A2aState::Completed {
            self.catch_up_history(task.history, &mut status, out);
        }
        if self.is_settled(&status) {
            return;
        }
        // Skip a status text that was already forwarded: a poll repeats the text each time.
        let is_word = matches!(
            status.state,
            A2aState::Submitted | A2aState::Working | A2aState::Unknown | A2aState::Completed
        );
        let said = status.message.as_ref().map(words);
        let is_reply = status.state == A2aState::Completed && said == self.recalled_reply;
        if is_word && (said == self.told || is_reply) {
            status.message = None;
        }
        self.status(status, None, out);
    }

    /// Returns true if the status is the state before the caller's last message.
    fn is_settled(&self, status: &A2aStatus) -> bool {
        let message = status.message.as_ref();
        match status.state {
            A2aState::InputRequired => {
                let id = message.map(|message| message.id.as_str());
                id.is_some() && id == self.settled.as_deref()
            }
            A2aState::AuthRequired => {
                self.settled_login == Some(message.map(words).unwrap_or_default())
            }
            _ => false,
        }
    }

    /// Forwards a reply that is only in the history, for servers whose status says at most that the task
    /// completed. If a part of the reply was forwarded, only the rest is forwarded.
    fn catch_up_history(
        &mut self,
        history: Vec<Message>,
        status: &mut A2aStatus,
        out: &mut Vec<RemoteOutput>,
    ) {
        let last = history.into_iter().next_back();
        let says_nothing = status
            .message
            .as_ref()
            .is_none_or(|message| words_of(&message.parts).as_deref() == Some(IT_WORKED));
        let Some(reply) = last.filter(|message| message.role == Role::Agent && says_nothing) else {
            return;
        };
        if !self.has_spoken {
            status.message = None;
            self.say_message(reply, ChunkKind::Text, out);
            return;
        }
        let reply = words(&reply);
        let rest = self.said.rest(&reply).filter(|_| self.said.length > 0);
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            status.message = None;
            self.said.say(rest);
            out.push(RemoteOutput::Say(Event::text(rest)));
        }
    }

    /// Returns the forwarded content of an artifact, if any.
    fn passed_of(&mut self, artifact: &Artifact) -> Option<&mut ForwardedContent> {
        let key = ArtifactKey::of(&artifact.id);
        // The log has no artifact id for the reply artifact of another hub.
        if self.is_recalled
            && self.said.length > 0
            && !self.passed.contains_key(&key)
            && chunk_of(String::new(), artifact).extra.is_none()
        {
            let said = std::mem::take(&mut self.said);
            let words = ForwardedContent {
                is_words: true,
                ..said
            };
            self.passed.insert(key, words);
        }
        self.passed.get_mut(&key)
    }

    /// Forwards the content of an artifact that was not forwarded yet.
    fn catch_up(&mut self, artifact: Artifact, out: &mut Vec<RemoteOutput>) {
        let words = words_of(&artifact.parts);
        let Some(had) = self.passed_of(&artifact) else {
            self.artifact(artifact, false, true, out);
            return;
        };
        if !had.is_words {
            let parts = had.new_parts(artifact.parts.clone());
            had.add_parts(&artifact.parts, false);
            if !parts.is_empty() {
                let more = Artifact { parts, ..artifact };
                out.push(RemoteOutput::Say(Event::Artifact(made(more, true, true))));
            }
            return;
        }
        let rest = words.as_deref().and_then(|words| had.rest(words));
        match rest {
            Some("") => {}
            Some(rest) => {
                had.say(rest);
                let chunk = chunk_of(rest.to_owned(), &artifact);
                out.push(RemoteOutput::Say(Event::Chunk(chunk)));
            }
            None => match words {
                // A different text replaces the old text. Forwarded text cannot be withdrawn, so the new text
                // follows on a new line.
                Some(words) if !words.is_empty() => {
                    *had = ForwardedContent::words();
                    had.say(&words);
                    let chunk = chunk_of(format!("\n{words}"), &artifact);
                    out.push(RemoteOutput::Say(Event::Chunk(chunk)));
                }
                // Forwarded text cannot be replaced by an empty text either.
                Some(_) => {}
                // The artifact changed from text to other content.
                None => {
                    had.add_parts(&artifact.parts, false);
                    out.push(RemoteOutput::Say(Event::Artifact(made(
                        artifact, false, true,
                    ))));
                }
            },
        }
    }

    fn artifact_update(&mut self, update: ArtifactUpdate, out: &mut Vec<RemoteOutput>) {
        if !self.check_task(&update.task_id, &update.context_id, out) {
            return;
        }
        // Some servers send the complete artifact again after its pieces.
        let had = self.passed.get(&ArtifactKey::of(&update.artifact.id));
        if !update.append && had.is_some_and(|had| had.is_words) {
            self.catch_up(update.artifact, out);
            return;
        }
        self.artifact(update.artifact, update.append, update.last_chunk, out);
    }

    /// Forwards an [`Artifact`] or a piece of an artifact. Plain text is forwarded as reply text, so that callers
    /// of all doors see the reply grow.
    fn artifact(
        &mut self,
        artifact: Artifact,
        append: bool,
        last: bool,
        out: &mut Vec<RemoteOutput>,
    ) {
        self.has_spoken = true;
        let data = artifact.parts.iter().find_map(|part| match &part.content {
            PartContent::Data(data) => text_in(Some(data), "value"),
            PartContent::Text(_) | PartContent::Bytes(_) | PartContent::Url(_) => None,
        });
        self.question = data.or(self.question.take());
        let words = words_of(&artifact.parts);
        let is_new = self.passed_of(&artifact).is_none();
        let key = ArtifactKey::of(&artifact.id);
        let had = self.passed.entry(key).or_insert_with(|| ForwardedContent {
            is_words: words.is_some(),
            ..ForwardedContent::default()
        });
        match words {
            Some(words) if had.is_words && (is_new || append) => {
                if !words.is_empty() {
                    had.say(&words);
                    let chunk = chunk_of(words, &artifact);
                    out.push(RemoteOutput::Say(Event::Chunk(chunk)));
                }
            }
            // Content that replaces text, or follows text and is not text, is forwarded as an artifact.
            _ => {
                let append = append && !is_new;
                had.add_parts(&artifact.parts, append);
                out.push(RemoteOutput::Say(Event::Artifact(made(
                    artifact, append, last,
                ))));
            }
        }
    }

    /// Forwards a message: the complete answer, or a piece from a server that streams messages.
    fn message(&mut self, message: Message, out: &mut Vec<RemoteOutput>) {
        if let Some(context) = &message.context_id {
            self.context = Some(context.clone());
        }
        if self.task.is_none() {
            self.task = message.task_id.clone().filter(|id| !id.is_empty());
        }
        let kind = match text_in(message.metadata.as_ref(), "agno_content_category").as_deref() {
            Some("reasoning") => ChunkKind::Thinking,
            _ => ChunkKind::Text,
        };
        self.say_message(message, kind, out);
    }

    fn say_message(&mut self, message: Message, kind: ChunkKind, out: &mut Vec<RemoteOutput>) {
        let (words, others): (Vec<Part>, Vec<Part>) = message
            .parts
            .into_iter()
            .partition(|part| matches!(part.content, PartContent::Text(_)));
        let text: Vec<&str> = words.iter().filter_map(text_of).collect();
        let text = text.join("\n");
        if !text.is_empty() {
            if kind == ChunkKind::Text {
                self.has_spoken = true;
                self.said.say(&text);
            }
            let chunk = Chunk {
                kind,
                ..Chunk::text(text)
            };
            out.push(RemoteOutput::Say(Event::Chunk(chunk)));
        }
        if !others.is_empty() {
            self.has_spoken = true;
            let artifact = Artifact {
                id: message.id,
                name: None,
                description: None,
                parts: others,
                metadata: None,
                extensions: Vec::new(),
                extra: Extra::new(),
            };
            out.push(RemoteOutput::Say(Event::Artifact(made(
                artifact, false, true,
            ))));
        }
    }

    fn status_update(&mut self, update: StatusUpdate, out: &mut Vec<RemoteOutput>) {
        if self.check_task(&update.task_id, &update.context_id, out) {
            self.status(update.status, update.metadata.as_ref(), out);
        }
    }

    fn status(&mut self, status: A2aStatus, metadata: Option<&Raw>, out: &mut Vec<RemoteOutput>) {
        let A2aStatus { state, message, .. } = status;
        match state {
            A2aState::Submitted | A2aState::Working | A2aState::Unknown => {
                if let Some(message) = message {
                    self.forward_progress(&message, metadata, out);
                }
            }
            A2aState::InputRequired => self.ask(message.as_ref(), out),
            A2aState::AuthRequired => {
                let result = message.as_ref().map(words);
                out.push(ended(Done {
                    state: DoneState::InputRequired,
                    needs_auth: true,
                    result,
                    ..Done::default()
                }));
            }
            A2aState::Completed => {
                self.last_words(message, out);
                out.push(ended(Done {
                    stop_reason: text_in(metadata, "stopReason"),
                    ..Done::default()
                }));
            }
            A2aState::Rejected => out.push(ended(Done {
                state: DoneState::Rejected,
                result: message.as_ref().map(words),
                ..Done::default()
            })),
            A2aState::Failed => {
                let said = message.as_ref().and_then(|said| said.metadata.as_ref());
                let reason = text_in(said, "failure").unwrap_or_else(|| "failed".to_owned());
                let text = message.as_ref().map(words).filter(|text| !text.is_empty());
                let text = text.unwrap_or_else(|| "the remote agent failed".to_owned());
                let failure = Failure::new(Reason::from_name(&reason), text);
                out.push(RemoteOutput::End(End::Failed(failure)));
            }
            A2aState::Canceled => out.push(RemoteOutput::End(End::Cancelled)),
        }
    }

    /// Forwards a status message of a working agent.
    fn forward_progress(
        &mut self,
        message: &Message,
        metadata: Option<&Raw>,
        out: &mut Vec<RemoteOutput>,
    ) {
        let said = |name: &str| {
            text_in(metadata, name).or_else(|| text_in(message.metadata.as_ref(), name))
        };
        let agno = said("agno_event_type");
        let kind = match (said("kind"), agno.as_deref()) {
            (Some(kind), _) => ChunkKind::from_name(&kind),
            (None, Some("tool_call_started")) => Some(ChunkKind::ToolStart),
            (None, Some("tool_call_completed")) => Some(ChunkKind::ToolResult),
            _ => None,
        };
        let chunk = Chunk {
            kind: kind.unwrap_or(ChunkKind::Status),
            tool_name: said("toolName").or_else(|| said("tool_name")),
            tool_call_id: said("toolCallId").or_else(|| said("tool_call_id")),
            text: words(message),
            extra: None,
            waiting_for: None,
        };
        let is_tool = matches!(
            chunk.kind,
            ChunkKind::ToolStart | ChunkKind::ToolInput | ChunkKind::ToolResult
        );
        if is_tool || !chunk.text.is_empty() {
            self.told = Some(chunk.text.clone());
            out.push(RemoteOutput::Say(Event::Chunk(chunk)));
        }
    }

    /// Forwards the message of the final status: as the reply if no reply came before, else as a status text.
    fn last_words(&mut self, message: Option<Message>, out: &mut Vec<RemoteOutput>) {
        let Some(message) = message else { return };
        let kind = match self.has_spoken {
            false => ChunkKind::Text,
            true => ChunkKind::Status,
        };
        self.say_message(message, kind, out);
    }

    fn ask(&mut self, message: Option<&Message>, out: &mut Vec<RemoteOutput>) {
        let id = message.map(|message| message.id.clone());
        let id = id.filter(|id| !id.is_empty());
        // After a disconnect, the task repeats the open question.
        if std::mem::replace(&mut self.is_waiting, true) {
            self.asked = self.asked.take().or(id);
            return;
        }
        self.asked = id;
        self.asks += 1;
        let schema = message.and_then(|message| {
            message.parts.iter().find_map(|part| match &part.content {
                PartContent::Data(data) => Some(Json::from(data.clone())),
                PartContent::Text(_) | PartContent::Bytes(_) | PartContent::Url(_) => None,
            })
        });
        let text = message.map(words).filter(|text| !text.is_empty());
        let text = text.or(self.question.take());
        out.push(RemoteOutput::Ask(Ask {
            id: self.last_ask().unwrap_or_default(),
            kind: AskKind::Input,
            text: text.unwrap_or_else(|| "the remote agent waits for input".to_owned()),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema,
        }));
    }
}

/// Returns the end of a call for an answer that violates the protocol.
pub(super) fn invalid_answer(text: impl Into<String>) -> RemoteOutput {
    let reason = Reason::Agent("invalid_agent_response".to_owned());
    RemoteOutput::End(End::Failed(Failure::new(reason, text.into())))
}

/// Returns the end of a call whose task exceeds [`MAX_ARTIFACTS`].
fn too_many() -> RemoteOutput {
    let text = format!("the remote agent made more than {MAX_ARTIFACTS} artifacts in one task");
    RemoteOutput::End(End::Failed(Failure::new(Reason::TooLarge, text)))
}

fn ended(done: Done) -> RemoteOutput {
    RemoteOutput::End(End::Done(Box::new(done)))
}

fn made(artifact: Artifact, append: bool, last: bool) -> event::Artifact {
    artifact_from(artifact, append, last)
}

/// Joins the text of parts; `None` unless all parts are plain text.
fn words_of(parts: &[Part]) -> Option<String> {
    parts.iter().map(plain_text).collect()
}

/// Returns the text of a part without fields of its own.
fn plain_text(part: &Part) -> Option<&str> {
    let is_plain = part.filename.is_none()
        && part.metadata.is_none()
        && part.extra.is_empty()
        && matches!(part.media_type.as_deref(), None | Some("" | "text/plain"));
    text_of(part).filter(|_| is_plain)
}

/// Joins adjacent parts of plain text.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        let follows = all.last().is_some_and(|last| plain_text(last).is_some());
        match (
            all.last_mut().map(|last| &mut last.content),
            plain_text(&part),
        ) {
            (Some(PartContent::Text(last)), Some(text)) if follows => last.push_str(text),
            _ => all.push(part),
        }
    }
    all
}

fn text_of(part: &Part) -> Option<&str> {
    match &part.content {
        PartContent::Text(text) => Some(text),
        PartContent::Bytes(_) | PartContent::Url(_) | PartContent::Data(_) => None,
    }
}

/// Joins all text of a message.
fn words(message: &Message) -> String {
    let texts: Vec<&str> = message.parts.iter().filter_map(text_of).collect();
    texts.join("\n")
}

/// Returns a string member of metadata.
fn text_in(metadata: Option<&Raw>, name: &str) -> Option<String> {
    let members = RawMembers::of(metadata?)?;
    members.text(name).map(|text| text.into_owned())
}

#[cfg(test)]
mod tests;
