//! Callers of the official protocol, by JSON-RPC: version 0.3 and version 1.0.

mod version;

use std::{collections::HashSet, marker::PhantomData};

use jackfield_testkit::{Events, TestHub, Web};
use reqwest::Method;
use serde_json::{Value, json};

use self::version::{One, Version, Zero3};
use super::{Caller, CallerEvent, Ended, Questions, text};
use crate::a2a_remote::server::ACTOR;

pub(crate) type V03 = Official<Zero3>;
pub(crate) type V1 = Official<One>;

pub(crate) struct Official<V> {
    web: Web,
    events: Option<Events>,
    task: Option<String>,
    /// Artifacts with at least one received piece.
    artifacts: HashSet<String>,
    raw_events: Vec<Value>,
    version: PhantomData<V>,
}

/// The joined text of parts.
fn words(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.map(|part| text(&part["text"])).collect()
}

fn made(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    artifacts.map(|it| words(&it["parts"])).collect()
}

impl<V: Version> Official<V> {
    fn call(&self, method: &str, params: &Value) -> reqwest::RequestBuilder {
        let request = self.web.ask(Method::POST, &format!("/a2a/agents/{ACTOR}"));
        let request = match V::HEADER {
            Some(version) => request.header("a2a-version", version),
            None => request,
        };
        request.json(&json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params}))
    }

    /// Sends a message unchanged, and returns the result.
    pub(crate) async fn send(&mut self, message: Value) -> Value {
        let request = self.call(V::SEND, &json!({"message": message}));
        let (status, answer) = jackfield_testkit::answer(request).await;
        assert_eq!(status, 200, "{answer}");
        self.raw_events = vec![answer.clone()];
        V::item(answer["result"].clone())
    }

    /// A message with this text.
    pub(crate) fn message(text: &str) -> Value {
        V::message(text)
    }

    async fn stream(&mut self, message: Value) {
        let request = self.call(V::STREAM, &json!({"message": message}));
        self.events = Some(Events::of(request).await);
    }

    fn status(status: &Value) -> CallerEvent {
        let message = words(&status["message"]["parts"]);
        match V::state(status).as_str() {
            "submitted" | "working" if message.is_empty() => CallerEvent::Other,
            "submitted" | "working" => CallerEvent::Status(message),
            "input-required" => CallerEvent::Asked,
            "completed" => CallerEvent::Ended(Ended::Done),
            "canceled" => CallerEvent::Ended(Ended::Cancelled),
            "failed" | "rejected" => CallerEvent::Ended(Ended::Failed(message)),
            other => panic!("{other}"),
        }
    }
}

impl<V: Version> Caller for Official<V> {
    const NAME: &'static str = V::NAME;
    const QUESTIONS: Questions = Questions::Answered;

    async fn join(hub: &TestHub) -> Self {
        Self {
            web: hub.web(),
            events: None,
            task: None,
            artifacts: HashSet::new(),
            raw_events: Vec::new(),
            version: PhantomData,
        }
    }

    async fn begin(&mut self, text: &str) {
        self.raw_events.clear();
        self.artifacts.clear();
        self.task = None;
        self.stream(V::message(text)).await;
    }

    async fn next(&mut self) -> CallerEvent {
        let result = self.events.as_mut().unwrap().next().await;
        self.raw_events.push(result.clone());
        let item = V::item(result["result"].clone());
        if let Some(task) = item.get("task") {
            assert!(
                self.raw_events.len() == 1,
                "a task comes first only: {item}"
            );
            self.task = Some(text(&task["id"]));
            return CallerEvent::Other;
        }
        if let Some(message) = item.get("message") {
            assert!(self.raw_events.len() == 1, "a message comes alone: {item}");
            return CallerEvent::Text(words(&message["parts"]));
        }
        if let Some(update) = item.get("statusUpdate") {
            return Self::status(&update["status"]);
        }
        let update = &item["artifactUpdate"];
        let is_new = self
            .artifacts
            .insert(text(&update["artifact"]["artifactId"]));
        assert_eq!(
            update["append"] == true,
            !is_new,
            "only the first piece of an artifact is no appended one: {item}"
        );
        match words(&update["artifact"]["parts"]) {
            words if words.is_empty() => CallerEvent::Other,
            words => CallerEvent::Text(words),
        }
    }

    async fn cancel(&mut self) {
        let request = self.call(V::CANCEL, &json!({"id": self.task}));
        let (_, answer) = jackfield_testkit::answer(request).await;
        assert_eq!(
            V::state(&answer["result"]["status"]),
            "canceled",
            "{answer}"
        );
    }

    async fn answer(&mut self, text: &str) {
        let mut message = V::message(text);
        message["taskId"] = self.task.clone().into();
        let ended = self.events.as_mut().unwrap().maybe_next().await;
        assert_eq!(ended, None, "a stream ends with a question");
        self.raw_events.clear();
        self.stream(message).await;
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }

    async fn once(&mut self, text: &str) -> (String, Ended) {
        let item = self.send(V::message(text)).await;
        if let Some(message) = item.get("message") {
            return (words(&message["parts"]), Ended::Done);
        }
        let task = &item["task"];
        match Self::status(&task["status"]) {
            CallerEvent::Ended(end) => (made(task), end),
            other => panic!("{other:?}: {item}"),
        }
    }
}
