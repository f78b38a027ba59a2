//! What the log of a task adds up to, for those who want the answer in one piece.

use std::sync::Arc;

use jackfield_core::{
    event::{ChunkKind, End, Event, File},
    store::{LogItem, StoreError},
    task::{Task, TaskItem},
};

use super::teller::unfold;

/// The last turn of a task.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The words, as far as they fit.
    pub(crate) text: String,
    /// The files of its artifacts.
    pub(crate) files: Vec<File>,
    /// How it ended.
    pub(crate) end: Option<End>,
}

impl Gathered {
    /// Of a turn that is all here; at most about so many bytes of text.
    pub(crate) fn from_items(items: Vec<LogItem>, max: usize) -> Self {
        let mut gathered = Self::default();
        items.into_iter().for_each(|item| gathered.add(item, max));
        gathered
    }

    /// Reads the log as far as there is one now; at most about so many bytes of text.
    pub(crate) async fn of(task: &Arc<Task>, max: usize) -> Result<Self, StoreError> {
        let mut gathered = Self::default();
        let until = task.record().log_end;
        let mut reader = task.subscribe(None);
        while let Some(item) = reader.next().await? {
            let (TaskItem::Row { next, .. } | TaskItem::Gap { next }) = &item;
            let is_last = next.pos >= until;
            if let TaskItem::Row { item, .. } = item {
                gathered.add(item, max);
            }
            if is_last {
                break;
            }
        }
        Ok(gathered)
    }

    fn add(&mut self, item: LogItem, max: usize) {
        match item {
            LogItem::Message(_) => *self = Self::default(),
            LogItem::Event(Event::Chunk(chunk)) if chunk.kind == ChunkKind::Text => {
                self.say(&chunk.text, max);
            }
            LogItem::Event(Event::Artifact(artifact)) => {
                let (text, files) = unfold(artifact.parts);
                self.say(&text, max);
                self.files.extend(files);
            }
            LogItem::Event(Event::Chunk(_) | Event::Ask(_)) | LogItem::Answer(..) => {}
            LogItem::End(end) => self.end = Some(end),
        }
    }

    fn say(&mut self, text: &str, max: usize) {
        let room = max.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }
}
