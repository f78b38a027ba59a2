//! The server as a client of the hub: it calls the team by A2A, and resumes its task after a lost connection.

use std::time::Duration;

use axum::http::HeaderValue;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::task::Task;
use crate::chains::{hub::Hub, team::TEAM};

/// Number of attempts to reach a stopped hub, and the pause between them.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// A client for the team.
#[derive(Debug, Clone)]
pub(super) struct TeamClient {
    client: Client,
    url: String,
}

impl TeamClient {
    pub(super) fn of(hub: &Hub) -> Self {
        Self {
            client: Client::new(),
            url: format!("{}/a2a/agents/{TEAM}", hub.url()),
        }
    }

    fn request(&self, method: &str, params: &Value) -> RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.client.post(&self.url).header("a2a-version", "1.0");
        request.json(&body)
    }

    /// Calls the team on behalf of a call, and copies the answer to the task.
    pub(super) async fn ask(
        &self,
        words: String,
        call: Option<HeaderValue>,
        task: &watch::Sender<Task>,
    ) {
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": words}]});
        let mut request = self.request("SendStreamingMessage", &json!({"message": message}));
        if let Some(call) = call {
            request = request.header("jackfield-call", call);
        }
        let mut open = request.send().await.ok();
        for _ in 0..TRIES {
            if let Some(response) = open.take() {
                TaskEvents(response).pass_on(task).await;
            }
            let hub_task = task.borrow().hub_task.clone();
            let Some(hub_task) = hub_task.filter(|_| !task.borrow().is_over()) else {
                break;
            };
            tokio::time::sleep(PAUSE).await;
            open = self.resume(&hub_task, task).await;
        }
        // No effect if the task has ended.
        task.send_modify(|task| {
            let why = "the team cannot be reached".to_owned();
            task.end("TASK_STATE_FAILED", Some(why));
        });
    }

    /// Reads the hub's task, and subscribes to it if it has not ended: a hub refuses subscriptions to ended tasks.
    async fn resume(&self, hub_task: &str, task: &watch::Sender<Task>) -> Option<Response> {
        let id = json!({"id": hub_task});
        let current = self.request("GetTask", &id).send().await.ok()?;
        let current: Value = current.json().await.ok()?;
        task.send_modify(|task| apply(task, &json!({"task": current["result"]})));
        if task.borrow().is_over() {
            return None;
        }
        self.request("SubscribeToTask", &id).send().await.ok()
    }

    pub(super) async fn cancel(&self, hub_task: &str) {
        let request = self.request("CancelTask", &json!({"id": hub_task}));
        request.send().await.expect("the hub is there");
    }
}

/// The hub's events about a task.
struct TaskEvents(Response);

impl TaskEvents {
    /// Copies the events to the task, until the task or the stream ends.
    async fn pass_on(mut self, task: &watch::Sender<Task>) {
        let mut unread = Vec::new();
        while let Ok(Some(bytes)) = self.0.chunk().await {
            unread.extend_from_slice(&bytes);
            while let Some(at) = unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<_> = unread.drain(..at + 2).collect();
                let block = String::from_utf8(block).expect("UTF-8");
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data {
                    let event: Value = serde_json::from_str(data).expect("JSON");
                    task.send_modify(|task| apply(task, &event["result"]));
                }
            }
        }
    }
}

fn apply(task: &mut Task, result: &Value) {
    let text_of = |parts: &Value| -> String {
        let parts = parts.as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).collect()
    };
    let task_json = &result["task"];
    if task_json.is_object() {
        task.hub_task = task_json["id"].as_str().map(str::to_owned);
        // After a restart the hub may have less text than before; the missing text is sent again.
        task.text_so_far = text_of(&task_json["artifacts"][0]["parts"]);
    }
    task.text_so_far += &text_of(&result["artifactUpdate"]["artifact"]["parts"]);
    let status = [&task_json["status"], &result["statusUpdate"]["status"]];
    for status in status {
        let state = status["state"].as_str().unwrap_or_default();
        if !matches!(state, "" | "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING") {
            let why = text_of(&status["message"]["parts"]);
            task.end(state, Some(why).filter(|why| !why.is_empty()));
        }
    }
}
