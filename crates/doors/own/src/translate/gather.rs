//! What the events of a call add up to: text, artifacts, the end. Gathering stops at a limit, and says so.

use jackfield_core::{
    event::{Chunk, ChunkKind, Done, DoneState, End, Event},
    store::{LogItem, TaskState},
};

use super::{
    event::{ArtifactView, OpenedView},
    task::CallResult,
};

/// What the events of a call add up to.
#[derive(Debug)]
pub struct Gathered {
    room: usize,
    truncated: bool,
    text: String,
    artifacts: Vec<ArtifactView>,
    done: Done,
}

impl Gathered {
    /// Nothing yet; at most about so many bytes in all.
    pub fn new(limit: usize) -> Self {
        Self {
            room: limit,
            truncated: false,
            text: String::new(),
            artifacts: Vec::new(),
            done: Done::default(),
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

    /// One more item of a task's log. A message begins another turn.
    pub fn add(&mut self, item: LogItem) {
        if !self.takes(item.weight()) {
            return;
        }
        match item {
            LogItem::Event(event) => self.add_event(event),
            LogItem::End(End::Done(done)) => self.end(*done),
            LogItem::End(End::Failed(_) | End::Cancelled) | LogItem::Answer(..) => {}
            LogItem::Message(_) => {
                self.text.clear();
                self.done = Done::default();
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
            Event::Chunk(_) | Event::Ask(_) => {}
            Event::Artifact(artifact) => self.artifact(artifact.into()),
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
