//! What a client that asked for it is told while a tool waits: the agent's words as they come. Every notification also
//! names the task, so that whoever loses the answer can go on with it.

use std::fmt;

use jackfield_model::{Chunk, ChunkKind, TaskId};
use rmcp::{
    Peer, RoleServer,
    model::{NotificationMetaObject, ProgressNotificationParam, ProgressToken},
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::limits::PROGRESS;

/// The name of the task among what a notification says besides.
pub(crate) const TASK: &str = "jackfield/task";

/// The progress of one request; nothing if the client does not want it.
pub(crate) struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    task: TaskId,
    /// How often it was told; the protocol wants a number that rises.
    told: u32,
    words: String,
    due: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>, task: TaskId) -> Self {
        Self {
            peer,
            token,
            task,
            told: 0,
            words: String::new(),
            due: None,
        }
    }

    /// A piece of the reply. Words are gathered for a moment; what the agent does is told at once.
    pub(crate) async fn chunk(&mut self, chunk: &Chunk) {
        let tool = || chunk.tool_name.as_deref().unwrap_or("a tool");
        let line = match chunk.kind {
            ChunkKind::Text => {
                self.words.push_str(&chunk.text);
                self.due.get_or_insert_with(|| Instant::now() + PROGRESS);
                return;
            }
            ChunkKind::Status => chunk.text.clone(),
            ChunkKind::ToolStart => format!("uses {}", tool()),
            ChunkKind::Thinking | ChunkKind::ToolInput | ChunkKind::ToolResult => return,
        };
        self.flush().await;
        self.tell(line).await;
    }

    /// Waits until gathered words are to be told. Cancel-safe.
    pub(crate) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Tells the gathered words.
    pub(crate) async fn flush(&mut self) {
        self.due = None;
        if !self.words.is_empty() {
            let words = std::mem::take(&mut self.words);
            self.tell(words).await;
        }
    }

    /// Tells something.
    pub(crate) async fn tell(&mut self, message: String) {
        let Some(token) = &self.token else {
            return;
        };
        self.told += 1;
        let mut progress =
            ProgressNotificationParam::new(token.clone(), self.told.into()).with_message(message);
        let mut meta = NotificationMetaObject::new();
        meta.insert(TASK.to_owned(), Value::String(self.task.to_string()));
        progress.meta = Some(meta);
        // A client that is gone is noticed elsewhere.
        drop(self.peer.notify_progress(progress).await);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("task", &self.task)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}
