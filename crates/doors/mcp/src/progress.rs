//! Progress notifications of a waiting tool: the agent's text as it arrives. Every notification names the
//! task, so a client can continue after losing the response.

use std::fmt;

use jackfield_model::{Chunk, ChunkKind, TaskId};
use rmcp::{
    Peer, RoleServer,
    model::{NotificationMetaObject, ProgressNotificationParam, ProgressToken},
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::limits::PROGRESS;

/// Key of the task id in a notification's metadata.
pub(crate) const TASK: &str = "jackfield/task";

/// Progress reporter of a request. Does nothing if the client did not ask for progress.
pub(crate) struct ProgressReporter {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    task: TaskId,
    /// Number of notifications sent. The protocol requires an increasing number.
    told: u32,
    words: String,
    due: Option<Instant>,
}

impl ProgressReporter {
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

    /// Reports a [`Chunk`] of the reply. Collects text for a moment; reports statuses and tools immediately.
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
        self.notify(line).await;
    }

    /// Waits until collected text is due. Cancel-safe.
    pub(crate) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Sends the collected text.
    pub(crate) async fn flush(&mut self) {
        self.due = None;
        if !self.words.is_empty() {
            let words = std::mem::take(&mut self.words);
            self.notify(words).await;
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, message: String) {
        let Some(token) = &self.token else {
            return;
        };
        self.told += 1;
        let mut progress =
            ProgressNotificationParam::new(token.clone(), self.told.into()).with_message(message);
        let mut meta = NotificationMetaObject::new();
        meta.insert(TASK.to_owned(), Value::String(self.task.to_string()));
        progress.meta = Some(meta);
        // A disconnected client is detected elsewhere.
        drop(self.peer.notify_progress(progress).await);
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("task", &self.task)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}
