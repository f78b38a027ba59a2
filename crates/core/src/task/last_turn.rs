//! [`LastTurn`]: the reply in the last turn of a [`Task`], added up from the log.

use std::sync::Arc;

use jackfield_model::{ChunkKind, End, Event, StreamedText, Transcript};

use super::{Task, TaskItem};
use crate::store::{LogItem, StoreError};

/// The last turn of a task: the agent's reply, and the end.
#[derive(Debug)]
pub struct LastTurn {
    /// Reply of the agent. [Truncated](Transcript::is_truncated) if the log no longer has all of it.
    pub transcript: Transcript,
    /// End of the turn, if it has ended. The transcript includes what the result adds to the streamed text.
    pub end: Option<End>,
    /// Text before the end, for a reader of the stream that missed its beginning.
    pub streamed: StreamedText,
    limit: usize,
}

impl LastTurn {
    fn new(limit: usize) -> Self {
        Self {
            transcript: Transcript::new(limit),
            end: None,
            streamed: StreamedText::default(),
            limit,
        }
    }

    /// Adds up the items of a log, up to `limit` bytes.
    pub fn from_items(items: Vec<LogItem>, limit: usize) -> Self {
        let mut turn = Self::new(limit);
        items.into_iter().for_each(|item| turn.add(item));
        turn
    }

    /// Reads the log as far as it is written, up to `limit` bytes.
    pub async fn read(task: &Arc<Task>, limit: usize) -> Result<Self, StoreError> {
        let mut turn = Self::new(limit);
        let until = task.record().log_end;
        let mut reader = task.subscribe(None);
        while let Some(item) = reader.next().await? {
            let (TaskItem::Row { next, .. } | TaskItem::Gap { next }) = &item;
            let is_last = next.pos >= until;
            match item {
                TaskItem::Row { item, .. } => turn.add(item),
                TaskItem::Gap { .. } => turn.transcript.mark_truncated(),
            }
            if is_last {
                break;
            }
        }
        Ok(turn)
    }

    fn add(&mut self, item: LogItem) {
        match item {
            LogItem::Message(_) => *self = Self::new(self.limit),
            LogItem::Event(event) => {
                if let Event::Chunk(chunk) = &event
                    && chunk.kind == ChunkKind::Text
                {
                    self.streamed.push(&chunk.text);
                }
                // Events that do not fit are left out, and mark the transcript as truncated.
                drop(self.transcript.add(event));
            }
            LogItem::Answer(..) => {}
            LogItem::End(End::Done(done)) => {
                self.transcript.finish((*done).clone());
                self.end = Some(End::Done(done));
            }
            LogItem::End(end) => self.end = Some(end),
        }
    }
}
