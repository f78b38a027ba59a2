//! A task of the server, and the events for its subscribers.

use serde_json::{Value, json};
use tokio::sync::watch;

/// The state of a task.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) state: String,
    /// The text so far.
    pub(super) said: String,
    /// The task at the hub behind this task.
    pub(super) asked: Option<String>,
    /// The reason of the failure.
    why: Option<String>,
}

impl Task {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            state: "TASK_STATE_WORKING".to_owned(),
            said: String::new(),
            asked: None,
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

    pub(super) fn shown(&self) -> Value {
        let mut task = json!({"id": self.id, "contextId": "c-1", "status": self.status()});
        if !self.said.is_empty() {
            task["artifacts"] = json!([{"artifactId": "a-1", "parts": [{"text": self.said}]}]);
        }
        task
    }
}

/// The event stream of a subscriber.
pub(super) struct Telling {
    /// The id of the request.
    id: Value,
    task: watch::Receiver<Task>,
    /// Number of text bytes already sent; `None` before the task itself was sent.
    told: Option<usize>,
    is_over: bool,
}

impl Telling {
    pub(super) fn new(id: Value, task: watch::Receiver<Task>) -> Self {
        Self {
            id,
            task,
            told: None,
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
            let Some(told) = self.told.replace(task.said.len()) else {
                self.is_over = task.is_over();
                return Some(json!({"task": task.shown()}));
            };
            if task.said.len() > told {
                let mut update = about;
                let parts = json!([{"text": task.said[told..]}]);
                update["artifact"] = json!({"artifactId": "a-1", "parts": parts});
                update["append"] = json!(told > 0);
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
