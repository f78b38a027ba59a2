//! A task of the server, and the events for its subscribers.

use serde_json::{Value, json};
use tokio::sync::watch;

/// The state of a task.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) state: String,
    /// The text so far.
    pub(super) text_so_far: String,
    /// The task at the hub behind this task.
    pub(super) hub_task: Option<String>,
    /// The reason of the failure.
    why: Option<String>,
}

impl Task {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            state: "TASK_STATE_WORKING".to_owned(),
            text_so_far: String::new(),
            hub_task: None,
            why: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state != "TASK_STATE_WORKING"
    }

    /// Ends the task, unless it has ended.
    pub(super) fn end(&mut self, state: &str, why: Option<String>) {
        if !self.is_over() {
            self.state = state.to_owned();
            self.why = why;
        }
    }

    fn status(&self) -> Value {
        let mut status = json!({"state": self.state});
        if let Some(why) = &self.why {
            status["message"] =
                json!({"messageId": "m-end", "role": "ROLE_AGENT", "parts": [{"text": why}]});
        }
        status
    }

    pub(super) fn to_json(&self) -> Value {
        let mut task = json!({"id": self.id, "contextId": "c-1", "status": self.status()});
        if !self.text_so_far.is_empty() {
            task["artifacts"] =
                json!([{"artifactId": "a-1", "parts": [{"text": self.text_so_far}]}]);
        }
        task
    }
}

/// The event stream of a subscriber.
pub(super) struct TaskSubscription {
    /// The id of the request.
    id: Value,
    task: watch::Receiver<Task>,
    /// Number of text bytes already sent; `None` before the task itself was sent.
    sent_bytes: Option<usize>,
    is_over: bool,
}

impl TaskSubscription {
    pub(super) fn new(id: Value, task: watch::Receiver<Task>) -> Self {
        Self {
            id,
            task,
            sent_bytes: None,
            is_over: false,
        }
    }

    /// Returns the next event as written, or `None` after the last event.
    pub(super) async fn next(&mut self) -> Option<String> {
        let result = self.result().await?;
        let event = json!({"jsonrpc": "2.0", "id": self.id, "result": result});
        Some(format!("data: {event}\n\n"))
    }

    async fn result(&mut self) -> Option<Value> {
        while !self.is_over {
            let task = self.task.borrow_and_update().clone();
            let about = json!({"taskId": task.id, "contextId": "c-1"});
            let Some(sent_bytes) = self.sent_bytes.replace(task.text_so_far.len()) else {
                self.is_over = task.is_over();
                return Some(json!({"task": task.to_json()}));
            };
            if task.text_so_far.len() > sent_bytes {
                let mut update = about;
                let parts = json!([{"text": task.text_so_far[sent_bytes..]}]);
                update["artifact"] = json!({"artifactId": "a-1", "parts": parts});
                update["append"] = json!(sent_bytes > 0);
                return Some(json!({"artifactUpdate": update}));
            }
            if task.is_over() {
                self.is_over = true;
                let mut update = about;
                update["status"] = task.status();
                return Some(json!({"statusUpdate": update}));
            }
            self.task.changed().await.ok()?;
        }
        None
    }
}
