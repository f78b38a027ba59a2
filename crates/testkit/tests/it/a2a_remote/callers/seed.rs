//! A caller of Agno's dialect.

use jackfield_testkit::{Events, TestHub, Web};
use serde_json::{Value, json};

use super::{Caller, CallerEvent, Ended, Questions, piece, text};
use crate::a2a_remote::server::ACTOR;

pub(crate) struct Seed {
    web: Web,
    events: Option<Events>,
    calls: usize,
    raw_events: Vec<Value>,
}

impl Seed {
    /// The next request of a session.
    fn request(&mut self, text: &str) -> Value {
        self.calls += 1;
        let id = format!("m-{}", self.calls);
        let parts = json!([{"kind": "text", "text": text}]);
        let message = json!({"messageId": id, "role": "user", "agentId": ACTOR, "contextId": "c-1", "parts": parts});
        json!({"jsonrpc": "2.0", "method": "message/send", "id": "1", "params": {"message": message}})
    }
}

impl Caller for Seed {
    const NAME: &'static str = "a caller of the seed's dialect";
    const QUESTIONS: Questions = Questions::Fatal;
    const RECEIVES_CANCEL: bool = false;

    async fn join(hub: &TestHub) -> Self {
        Self {
            web: hub.web(),
            events: None,
            calls: 0,
            raw_events: Vec::new(),
        }
    }

    async fn begin(&mut self, text: &str) {
        self.raw_events.clear();
        let request = self.request(text);
        self.events = Some(self.web.stream("/a2a/message/stream", request).await);
    }

    async fn next(&mut self) -> CallerEvent {
        let event = self.events.as_mut().unwrap().maybe_next().await.unwrap();
        let data = event.data;
        self.raw_events.push(data.clone());
        match event.event.as_deref().unwrap() {
            "task_update" => piece(&data["kind"], text(&data["delta"])),
            "task_completed" => CallerEvent::Ended(Ended::Done),
            "error" => CallerEvent::Ended(Ended::Failed(text(&data["error"]["message"]))),
            other => panic!("{other}: {data}"),
        }
    }

    /// Disconnects, since the protocol has no cancel.
    async fn cancel(&mut self) {
        self.events = None;
    }

    async fn answer(&mut self, _: &str) {
        unreachable!("its call fails");
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }

    async fn once(&mut self, text: &str) -> (String, Ended) {
        let request = self.request(text);
        let (status, answer) = self.web.post("/a2a/message/send", request).await;
        self.raw_events = vec![answer.clone()];
        let task = &answer["result"]["task"];
        if status != 200 {
            let message = super::text(&answer["error"]["message"]);
            return (String::new(), Ended::Failed(message));
        }
        assert_eq!(task["status"], "completed", "{answer}");
        let parts = task["history"][1]["parts"].as_array().unwrap();
        let words = parts.iter().map(|part| super::text(&part["text"]));
        (words.collect(), Ended::Done)
    }
}
