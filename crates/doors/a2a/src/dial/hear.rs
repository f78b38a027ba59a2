//! What a remote's answers are to the core: each item of its stream, in whichever version it came, becomes events, a
//! question or the end. After a cut the remote shows the task as it stands: only what was not passed on yet is. After a
//! restart of the hub the log tells what that was (`hear/recall.rs`).

mod recall;

use std::collections::HashMap;

use jackfield_model as event;
use jackfield_model::{
    Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, Json, Reason,
};
use jackfield_wire::json::Members;
use sha2::{Digest as _, Sha256};

use crate::official::translate::{artifact_from, chunk_of};
use crate::wire::official::model::{
    Artifact, ArtifactUpdate, Content, Extra, Item, Message, Part, Raw, Role, State, Status,
    StatusUpdate, Task,
};

/// What LangGraph's server says in the status of every task that is completed.
const IT_WORKED: &str = "Task completed successfully";

/// What something that the remote said is to the core.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    /// Something for the caller.
    Say(Event),
    /// The remote waits for its caller.
    Ask(Ask),
    /// The turn is over. Nothing comes after it.
    End(End),
}

/// How many artifacts of one task are remembered, at about 200 bytes each. A server that makes more fails the call: the hub
/// could not tell any more what it has passed on already.
const MAX_ARTIFACTS: usize = 10_000;

/// What was passed on of an artifact.
#[derive(Debug, Clone, Default)]
struct Passed {
    /// As words of the reply; otherwise as an artifact.
    is_words: bool,
    /// How many bytes of its words, and what they were.
    length: usize,
    hash: Sha256,
    /// How many of its parts, where it is no words.
    parts: usize,
}

impl Passed {
    /// An artifact of words, of which nothing was passed on.
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

    /// What of a text was not passed on, if it begins with what was.
    fn rest<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (before, rest) = text.split_at_checked(self.length)?;
        let is_same = Sha256::digest(before) == self.hash.clone().finalize();
        is_same.then_some(rest)
    }
}

/// Which artifact it is: a digest of its id, since ids may be of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ArtifactKey([u8; 32]);

impl ArtifactKey {
    fn of(id: &str) -> Self {
        Self(Sha256::digest(id).into())
    }
}

/// What the remote has answered to the last message with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Answered {
    /// Nothing yet.
    #[default]
    Nothing,
    /// One message, which is a whole answer.
    Message,
    /// Several messages: a reply that is streamed in pieces.
    Messages,
    /// A task, or updates of one.
    Task,
}

/// Listens to a remote that works on one task.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    task: Option<String>,
    context: Option<String>,
    passed: HashMap<ArtifactKey, Passed>,
    /// What was said of the reply in no artifact.
    said: Passed,
    /// The last word beside the reply.
    told: Option<String>,
    /// Whether a hub before this one heard the beginning.
    is_recalled: bool,
    /// Whether anything of the reply was passed on.
    has_spoken: bool,
    /// What came since the last message was sent.
    answered: Answered,
    asks: usize,
    /// What may be the next question: LangGraph's server puts it into an artifact.
    question: Option<String>,
    is_waiting: bool,
    /// The message that was the last question.
    asked: Option<String>,
    /// The question that was just answered: some servers show the task as it stood once more before they go on.
    settled: Option<String>,
    /// What it said when it wanted a login, in the turn before.
    wanted_login: Option<String>,
    /// The same once its caller has said more: as with questions, it may be shown once more.
    settled_login: Option<String>,
    is_over: bool,
}

impl Hearing {
    /// The remote's id of the task, once it is known.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// The remote's id of the conversation, once it is known.
    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Whether the remote waits for its caller.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// The id of its last question.
    pub(super) fn last_ask(&self) -> Option<String> {
        (self.asks > 0).then(|| format!("input-{}", self.asks))
    }

    /// The caller has answered.
    pub(super) fn answered(&mut self) {
        self.is_waiting = false;
        self.settled = self.asked.take();
        self.settled_login = self.wanted_login.take();
    }

    /// It is not known whether the answer got through: the same question would be a question again.
    pub(super) fn doubts_the_answer(&mut self) {
        self.settled = None;
        self.settled_login = None;
    }

    /// A message goes out: what comes now answers it.
    pub(super) fn sent(&mut self) {
        self.answered = Answered::Nothing;
    }

    /// The stream was closed in order. That is an end only if the remote speaks in messages, whether they name a task or not.
    pub(super) fn closed(&mut self) -> Option<End> {
        match self.answered {
            Answered::Message | Answered::Messages => self.end_in_message(),
            Answered::Nothing | Answered::Task => None,
        }
    }

    /// The stream broke off. One message is a whole answer all the same.
    pub(super) fn cut(&mut self) -> Option<End> {
        match self.answered {
            Answered::Message => self.end_in_message(),
            Answered::Nothing | Answered::Messages | Answered::Task => None,
        }
    }

    fn end_in_message(&mut self) -> Option<End> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(End::Done(Box::new(Done {
            // Where the caller was asked something before, it knows of a task.
            is_message: self.asks == 0 && !self.is_recalled,
            ..Done::default()
        })))
    }

    /// What an item is. Nothing once the task is over.
    pub(super) fn hear(&mut self, item: Item) -> Vec<Heard> {
        let mut out = Vec::new();
        if self.is_over {
            return out;
        }
        self.answered = match (&item, self.answered) {
            (Item::Message(_), Answered::Nothing) => Answered::Message,
            (Item::Message(_), Answered::Message | Answered::Messages) => Answered::Messages,
            (Item::Message(_) | Item::Task(_) | Item::Status(_) | Item::Artifact(_), _) => {
                Answered::Task
            }
        };
        match item {
            Item::Task(task) => self.task_stands(*task, &mut out),
            Item::Message(message) => self.message(*message, &mut out),
            Item::Status(update) => self.status_update(*update, &mut out),
            Item::Artifact(update) => self.artifact_update(*update, &mut out),
        }
        if self.passed.len() > MAX_ARTIFACTS && !matches!(out.last(), Some(Heard::End(_))) {
            out.push(too_many());
        }
        self.is_over = matches!(out.last(), Some(Heard::End(_)));
        out
    }

    /// Notes whose item it is. One of another task ends the call: nobody could tell whose words they are.
    fn is_ours(&mut self, task: &str, context: &str, out: &mut Vec<Heard>) -> bool {
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
        out.push(garbled(text));
        false
    }

    fn task_stands(&mut self, task: Task, out: &mut Vec<Heard>) {
        if !self.is_ours(&task.id, &task.context_id, out) {
            return;
        }
        for artifact in task.artifacts {
            self.catch_up(artifact, out);
        }
        let mut status = task.status;
        if self.passed.is_empty() && status.state == State::Completed {
            self.catch_up_history(task.history, &mut status, out);
        }
        if self.is_settled(&status) {
            return;
        }
        // It is no news each time that the task is looked at.
        let is_word = matches!(
            status.state,
            State::Submitted | State::Working | State::Unknown | State::Completed
        );
        if is_word && status.message.as_ref().map(words) == self.told {
            status.message = None;
        }
        self.status(status, None, out);
    }

    /// Whether the task is shown as it stood before the caller's last word.
    fn is_settled(&self, status: &Status) -> bool {
        let message = status.message.as_ref();
        match status.state {
            State::InputRequired => {
                let id = message.map(|message| message.id.as_str());
                id.is_some() && id == self.settled.as_deref()
            }
            State::AuthRequired => {
                self.settled_login == Some(message.map(words).unwrap_or_default())
            }
            _ => false,
        }
    }

    /// Some say their reply only in the history, and in the status at most that it worked. Of a reply that was begun, the
    /// rest is passed on.
    fn catch_up_history(
        &mut self,
        history: Vec<Message>,
        status: &mut Status,
        out: &mut Vec<Heard>,
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
            out.push(Heard::Say(Event::text(rest)));
        }
    }

    /// What was passed on of an artifact, if anything was.
    fn passed_of(&mut self, artifact: &Artifact) -> Option<&mut Passed> {
        let key = ArtifactKey::of(&artifact.id);
        // The log has no name for the one that another hub makes of words.
        if self.is_recalled
            && self.said.length > 0
            && !self.passed.contains_key(&key)
            && chunk_of(String::new(), artifact).extra.is_none()
        {
            let said = std::mem::take(&mut self.said);
            let words = Passed {
                is_words: true,
                ..said
            };
            self.passed.insert(key, words);
        }
        self.passed.get_mut(&key)
    }

    /// Passes on what of an artifact was not passed on yet.
    fn catch_up(&mut self, artifact: Artifact, out: &mut Vec<Heard>) {
        let words = words_of(&artifact.parts);
        let Some(had) = self.passed_of(&artifact) else {
            self.artifact(artifact, false, true, out);
            return;
        };
        if !had.is_words {
            let count = std::mem::replace(&mut had.parts, artifact.parts.len());
            if count < artifact.parts.len() {
                let parts = artifact.parts[count..].to_vec();
                let more = Artifact { parts, ..artifact };
                out.push(Heard::Say(Event::Artifact(made(more, true, true))));
            }
            return;
        }
        let rest = words.as_deref().and_then(|words| had.rest(words));
        match rest {
            Some("") => {}
            Some(rest) => {
                had.say(rest);
                let chunk = chunk_of(rest.to_owned(), &artifact);
                out.push(Heard::Say(Event::Chunk(chunk)));
            }
            None => match words {
                // Other words take their place. What was said cannot be taken back: they follow, on a line of their own.
                Some(words) if !words.is_empty() => {
                    *had = Passed::words();
                    had.say(&words);
                    let chunk = chunk_of(format!("\n{words}"), &artifact);
                    out.push(Heard::Say(Event::Chunk(chunk)));
                }
                // Nothing takes nothing back either.
                Some(_) => {}
                // It has become something else meanwhile.
                None => {
                    had.is_words = false;
                    had.parts = artifact.parts.len();
                    out.push(Heard::Say(Event::Artifact(made(artifact, false, true))));
                }
            },
        }
    }

    fn artifact_update(&mut self, update: ArtifactUpdate, out: &mut Vec<Heard>) {
        if !self.is_ours(&update.task_id, &update.context_id, out) {
            return;
        }
        // Some give the whole once more in the place of its pieces.
        let had = self.passed.get(&ArtifactKey::of(&update.artifact.id));
        if !update.append && had.is_some_and(|had| had.is_words) {
            self.catch_up(update.artifact, out);
            return;
        }
        self.artifact(update.artifact, update.append, update.last_chunk, out);
    }

    /// Something was made, or a piece of it. Plain words are the reply, which callers of all doors see grow.
    fn artifact(&mut self, artifact: Artifact, append: bool, last: bool, out: &mut Vec<Heard>) {
        self.has_spoken = true;
        let data = artifact.parts.iter().find_map(|part| match &part.content {
            Content::Data(data) => text_in(Some(data), "value"),
            Content::Text(_) | Content::Bytes(_) | Content::Url(_) => None,
        });
        self.question = data.or(self.question.take());
        let words = words_of(&artifact.parts);
        let is_new = self.passed_of(&artifact).is_none();
        let key = ArtifactKey::of(&artifact.id);
        let had = self.passed.entry(key).or_insert_with(|| Passed {
            is_words: words.is_some(),
            ..Passed::default()
        });
        match words {
            Some(words) if had.is_words && (is_new || append) => {
                if !words.is_empty() {
                    had.say(&words);
                    let chunk = chunk_of(words, &artifact);
                    out.push(Heard::Say(Event::Chunk(chunk)));
                }
            }
            // What takes the place of words, or follows them and is none, is told as what it is.
            _ => {
                let append = append && !is_new;
                let before = if append { had.parts } else { 0 };
                had.is_words = false;
                had.parts = before + artifact.parts.len();
                out.push(Heard::Say(Event::Artifact(made(artifact, append, last))));
            }
        }
    }

    /// A message: the whole answer, or a piece of it from those who stream in messages.
    fn message(&mut self, message: Message, out: &mut Vec<Heard>) {
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

    fn say_message(&mut self, message: Message, kind: ChunkKind, out: &mut Vec<Heard>) {
        let (words, others): (Vec<Part>, Vec<Part>) = message
            .parts
            .into_iter()
            .partition(|part| matches!(part.content, Content::Text(_)));
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
            out.push(Heard::Say(Event::Chunk(chunk)));
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
            out.push(Heard::Say(Event::Artifact(made(artifact, false, true))));
        }
    }

    fn status_update(&mut self, update: StatusUpdate, out: &mut Vec<Heard>) {
        if self.is_ours(&update.task_id, &update.context_id, out) {
            self.status(update.status, update.metadata.as_ref(), out);
        }
    }

    fn status(&mut self, status: Status, metadata: Option<&Raw>, out: &mut Vec<Heard>) {
        let Status { state, message, .. } = status;
        match state {
            State::Submitted | State::Working | State::Unknown => {
                if let Some(message) = message {
                    self.meanwhile(&message, metadata, out);
                }
            }
            State::InputRequired => self.ask(message.as_ref(), out),
            State::AuthRequired => {
                let result = message.as_ref().map(words);
                out.push(ended(Done {
                    state: DoneState::InputRequired,
                    needs_auth: true,
                    result,
                    ..Done::default()
                }));
            }
            State::Completed => {
                self.last_words(message, out);
                out.push(ended(Done {
                    stop_reason: text_in(metadata, "stopReason"),
                    ..Done::default()
                }));
            }
            State::Rejected => out.push(ended(Done {
                state: DoneState::Rejected,
                result: message.as_ref().map(words),
                ..Done::default()
            })),
            State::Failed => {
                let said = message.as_ref().and_then(|said| said.metadata.as_ref());
                let reason = text_in(said, "failure").unwrap_or_else(|| "failed".to_owned());
                let text = message.as_ref().map(words).filter(|text| !text.is_empty());
                let text = text.unwrap_or_else(|| "the remote agent failed".to_owned());
                let failure = Failure::new(Reason::from_name(&reason), text);
                out.push(Heard::End(End::Failed(failure)));
            }
            State::Canceled => out.push(Heard::End(End::Cancelled)),
        }
    }

    /// A word of an agent that works.
    fn meanwhile(&mut self, message: &Message, metadata: Option<&Raw>, out: &mut Vec<Heard>) {
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
            out.push(Heard::Say(Event::Chunk(chunk)));
        }
    }

    /// What comes with the end is the reply, if there was none; else it is said besides.
    fn last_words(&mut self, message: Option<Message>, out: &mut Vec<Heard>) {
        let Some(message) = message else { return };
        let kind = match self.has_spoken {
            false => ChunkKind::Text,
            true => ChunkKind::Status,
        };
        self.say_message(message, kind, out);
    }

    fn ask(&mut self, message: Option<&Message>, out: &mut Vec<Heard>) {
        let id = message.map(|message| message.id.clone());
        let id = id.filter(|id| !id.is_empty());
        // The same question comes again with the task after a cut.
        if std::mem::replace(&mut self.is_waiting, true) {
            self.asked = self.asked.take().or(id);
            return;
        }
        self.asked = id;
        self.asks += 1;
        let schema = message.and_then(|message| {
            message.parts.iter().find_map(|part| match &part.content {
                Content::Data(data) => Some(Json::from(data.clone())),
                Content::Text(_) | Content::Bytes(_) | Content::Url(_) => None,
            })
        });
        let text = message.map(words).filter(|text| !text.is_empty());
        let text = text.or(self.question.take());
        out.push(Heard::Ask(Ask {
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

/// An answer that makes no sense.
pub(super) fn garbled(text: impl Into<String>) -> Heard {
    let reason = Reason::Agent("invalid_agent_response".to_owned());
    Heard::End(End::Failed(Failure::new(reason, text.into())))
}

/// The remote makes artifacts without end.
fn too_many() -> Heard {
    let text = format!("the remote agent made more than {MAX_ARTIFACTS} artifacts in one task");
    Heard::End(End::Failed(Failure::new(Reason::TooLarge, text)))
}

fn ended(done: Done) -> Heard {
    Heard::End(End::Done(Box::new(done)))
}

fn made(artifact: Artifact, append: bool, last: bool) -> event::Artifact {
    artifact_from(artifact, append, last)
}

/// The words of parts that are nothing else.
fn words_of(parts: &[Part]) -> Option<String> {
    let mut words = String::new();
    for part in parts {
        let is_plain = part.filename.is_none()
            && part.metadata.is_none()
            && part.extra.is_empty()
            && matches!(part.media_type.as_deref(), None | Some("" | "text/plain"));
        match &part.content {
            Content::Text(text) if is_plain => words.push_str(text),
            _ => return None,
        }
    }
    Some(words)
}

fn text_of(part: &Part) -> Option<&str> {
    match &part.content {
        Content::Text(text) => Some(text),
        Content::Bytes(_) | Content::Url(_) | Content::Data(_) => None,
    }
}

/// All words of a message.
fn words(message: &Message) -> String {
    let texts: Vec<&str> = message.parts.iter().filter_map(text_of).collect();
    texts.join("\n")
}

/// A text among metadata.
fn text_in(metadata: Option<&Raw>, name: &str) -> Option<String> {
    let members = Members::of(metadata?)?;
    members.text(name).map(|text| text.into_owned())
}

#[cfg(test)]
mod tests;
