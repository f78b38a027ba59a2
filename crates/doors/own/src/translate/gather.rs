//! What the events of a call or task add up to: text, artifacts, history. Gathering stops at a limit, and says so.

use jackfield_core::{
    event::{Ask, Chunk, ChunkKind, Done, DoneState, End, Event, Part},
    store::{LogItem, TaskState},
    task::Cursor,
};

use super::{
    event::{ArtifactView, OpenedView},
    task::{CallResult, HistoryItem, Role, TaskSummary, TaskView, asks_view},
};

/// What the events of a call or task add up to.
#[derive(Debug)]
pub struct Gathered {
    room: usize,
    truncated: bool,
    text: String,
    /// How much of the text stands in the history.
    told: usize,
    artifacts: Vec<ArtifactView>,
    done: Done,
    history: Vec<HistoryItem>,
}

impl Gathered {
    /// Nothing yet; at most about so many bytes in all.
    pub fn new(limit: usize) -> Self {
        Self {
            room: limit,
            truncated: false,
            text: String::new(),
            told: 0,
            artifacts: Vec::new(),
            done: Done::default(),
            history: Vec::new(),
        }
    }

    /// Whether something did not fit, or was no longer there.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Something is missing.
    pub fn gap(&mut self) {
        self.truncated = true;
    }

    /// One more item of a task's log.
    pub fn add(&mut self, item: LogItem) {
        if !self.takes(item.weight()) {
            return;
        }
        match item {
            LogItem::Event(event) => self.add_event(event),
            LogItem::End(End::Done(done)) => self.end(*done),
            LogItem::End(End::Failed(_) | End::Cancelled) => self.tell(),
            LogItem::Message(message) => {
                self.text.clear();
                self.told = 0;
                self.done = Done::default();
                self.history.push(HistoryItem {
                    role: Role::Caller,
                    parts: message.parts,
                    message_id: message.id,
                    ask_id: None,
                    approved: None,
                });
            }
            LogItem::Answer(ask_id, answer) => {
                let mut parts: Vec<_> = answer.content.into_iter().map(Part::Text).collect();
                parts.extend(answer.parts);
                parts.extend(answer.reason.map(Part::Text));
                self.history.push(HistoryItem {
                    role: Role::Caller,
                    parts,
                    message_id: None,
                    ask_id: Some(ask_id),
                    approved: answer.approved,
                });
            }
        }
    }

    /// One more event of a live call.
    pub fn event(&mut self, event: Event) {
        if self.takes(event.weight()) {
            self.add_event(event);
        }
    }

    /// The agent is done.
    pub fn end(&mut self, done: Done) {
        self.done = done;
        // Agents that stream may repeat the whole at the end; others give it only there.
        if self.text.is_empty()
            && let Some(result) = self.done.result.take()
        {
            self.text = result;
        }
        self.tell();
    }

    fn takes(&mut self, weight: usize) -> bool {
        match self.room.checked_sub(weight) {
            Some(room) if !self.truncated => self.room = room,
            _ => self.truncated = true,
        }
        !self.truncated
    }

    fn add_event(&mut self, event: Event) {
        match event {
            Event::Chunk(Chunk {
                kind: ChunkKind::Text,
                text,
                ..
            }) => self.text.push_str(&text),
            Event::Chunk(_) => {}
            Event::Artifact(artifact) => self.artifact(artifact.into()),
            Event::Ask(ask) => {
                self.tell();
                self.say(vec![Part::Text(ask.text)], Some(ask.id));
            }
        }
    }

    fn artifact(&mut self, new: ArtifactView) {
        match self.artifacts.iter_mut().find(|had| had.id == new.id) {
            Some(had) if new.append => {
                had.parts.extend(new.parts);
                had.name = new.name.or(had.name.take());
                had.last = new.last;
            }
            Some(had) => *had = new,
            None => self.artifacts.push(new),
        }
    }

    /// Puts the text that is not there yet into the history.
    fn tell(&mut self) {
        if self.told < self.text.len() {
            let text = self.text[self.told..].to_owned();
            self.told = self.text.len();
            self.say(vec![Part::Text(text)], None);
        }
    }

    fn say(&mut self, parts: Vec<Part>, ask_id: Option<String>) {
        self.history.push(HistoryItem {
            role: Role::Agent,
            parts,
            message_id: None,
            ask_id,
            approved: None,
        });
    }

    /// The task as it stands.
    pub fn into_task(mut self, record: TaskSummary, asks: Vec<Ask>, cursor: Cursor) -> TaskView {
        self.tell();
        TaskView {
            record,
            text: self.text,
            artifacts: self.artifacts,
            attachments: self.done.attachments,
            needs_auth: self.done.needs_auth,
            file_transfer_offer: self.done.file_transfer_offer,
            history: self.history,
            asks: asks_view(asks),
            truncated: self.truncated,
            cursor: cursor.to_string(),
        }
    }

    /// The whole answer to a call that is over; `cancelled` if it was not done.
    pub fn into_result(self, opened: OpenedView, cancelled: bool) -> CallResult {
        let state = match self.done.state {
            _ if cancelled => TaskState::Cancelled,
            DoneState::Completed => TaskState::Completed,
            DoneState::InputRequired => TaskState::InputRequired,
            DoneState::Rejected => TaskState::Rejected,
        };
        CallResult {
            opened,
            state,
            text: self.text,
            needs_auth: self.done.needs_auth,
            artifacts: self.artifacts,
            attachments: self.done.attachments,
            usage: self.done.usage,
            stop_reason: self.done.stop_reason,
            file_transfer_offer: self.done.file_transfer_offer,
        }
    }
}

#[cfg(test)]
mod tests;
