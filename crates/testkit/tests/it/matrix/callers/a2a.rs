//! A caller of the official protocol, version 1.0, by JSON-RPC and server-sent events.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Events, TestHub, Web};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    setup::Owner,
};

pub(crate) struct A2a {
    web: Web,
    target: String,
    task: String,
    events: Option<Events>,
    pending: VecDeque<CallerEvent>,
}

fn message(words: &str) -> Value {
    json!({"messageId": format!("m-{words}"), "role": "ROLE_USER", "parts": [{"text": words}]})
}

/// The joined text of parts.
fn words(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.map(|part| text(&part["text"])).collect()
}

impl A2a {
    fn of(web: Web, target: &str) -> Self {
        Self {
            web,
            target: target.to_owned(),
            task: String::new(),
            events: None,
            pending: VecDeque::new(),
        }
    }

    fn ask(&self, method: &str, params: &Value) -> RequestBuilder {
        let path = format!("/a2a/agents/{}", self.target);
        let request = self.web.ask(Method::POST, &path);
        let body = json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params});
        request.header("a2a-version", "1.0").json(&body)
    }

    async fn stream(&mut self, method: &str, params: Value) {
        self.events = Some(Events::of(self.ask(method, &params)).await);
    }

    async fn made(&mut self, artifact: &Value) {
        for part in artifact["parts"].as_array().unwrap() {
            let event = match part {
                part if part["raw"].is_string() => {
                    CallerEvent::File(File::bytes(&part["filename"], &part["raw"]))
                }
                part if part["url"].is_string() => {
                    CallerEvent::File(File::linked(&part["filename"], &part["url"]).await)
                }
                part => match part["text"].as_str().unwrap() {
                    // The last piece of a reply may be empty.
                    "" => continue,
                    words => CallerEvent::text(words),
                },
            };
            self.pending.push_back(event);
        }
    }

    fn status(update: &Value) -> Option<CallerEvent> {
        let status = &update["status"];
        let said = &status["message"];
        let words = words(&said["parts"]);
        match status["state"].as_str().unwrap() {
            "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => {
                let kind = update["metadata"]["kind"].as_str()?;
                let tool = &update["metadata"]["toolName"];
                Some(CallerEvent::chunk(Some(kind), words, tool))
            }
            "TASK_STATE_INPUT_REQUIRED" => Some(CallerEvent::Asked(words)),
            "TASK_STATE_COMPLETED" => Some(CallerEvent::Done),
            "TASK_STATE_CANCELED" => Some(CallerEvent::Cancelled),
            "TASK_STATE_FAILED" => Some(CallerEvent::Failed {
                code: text(&said["metadata"]["failure"]),
                words,
            }),
            _ => panic!("{update}"),
        }
    }
}

impl Caller for A2a {
    const PROTOCOL: Protocol = Protocol::A2a;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self::of(hub.web(), target)
    }

    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self {
        Self::of(owner.web(hub), target)
    }

    async fn call(&mut self) {
        let params = json!({"message": message(QUESTION)});
        self.stream("SendStreamingMessage", params).await;
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let item = self.events.as_mut().unwrap().next().await["result"].take();
            if let Some(task) = item.get("task") {
                self.task = text(&task["id"]);
                for artifact in task["artifacts"].as_array().into_iter().flatten() {
                    self.made(artifact).await;
                }
            } else if let Some(update) = item.get("artifactUpdate") {
                self.made(&update["artifact"]).await;
            } else {
                self.pending.extend(Self::status(&item["statusUpdate"]));
            }
        }
    }

    async fn answer(&mut self, words: &str) {
        let ended = self.events.as_mut().unwrap().maybe_next().await;
        assert_eq!(ended, None, "a stream ends with a question");
        let mut message = message(words);
        message["taskId"] = self.task.clone().into();
        self.stream("SendStreamingMessage", json!({"message": message}))
            .await;
    }

    async fn cancel(&mut self) {
        let request = self.ask("CancelTask", &json!({"id": self.task}));
        let (_, answer) = jackfield_testkit::answer(request).await;
        let state = &answer["result"]["status"]["state"];
        assert_eq!(state, "TASK_STATE_CANCELED", "{answer}");
    }

    async fn leave(&mut self) {
        self.events = None;
    }

    async fn reconnect(&mut self) {
        let params = json!({"id": self.task});
        self.stream("SubscribeToTask", params).await;
    }

    async fn refused(&mut self) -> CallerEvent {
        let params = json!({"message": message(QUESTION)});
        let request = self.ask("SendStreamingMessage", &params);
        let (status, answer) = jackfield_testkit::answer(request).await;
        assert_eq!(status, 404, "{answer}");
        CallerEvent::Failed {
            code: answer["error"]["code"].to_string(),
            words: text(&answer["error"]["message"]),
        }
    }
}
