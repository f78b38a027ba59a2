//! A caller of the hub's own API.

use jackfield_testkit::{Events, TestHub, Web};
use serde_json::{Value, json};

use super::{Caller, CallerEvent, Ended, Questions, piece, text};
use crate::a2a_remote::server::ACTOR;

pub(crate) struct Own {
    web: Web,
    events: Option<Events>,
    call: String,
    ask: Value,
    raw_events: Vec<Value>,
}

fn calls() -> String {
    format!("/v1/agents/{ACTOR}/calls")
}

impl Caller for Own {
    const NAME: &'static str = "a caller of the hub's own API";
    const QUESTIONS: Questions = Questions::Answered;

    async fn join(hub: &TestHub) -> Self {
        Self {
            web: hub.web(),
            events: None,
            call: String::new(),
            ask: Value::Null,
            raw_events: Vec::new(),
        }
    }

    async fn begin(&mut self, text: &str) {
        self.raw_events.clear();
        let mut events = self.web.stream(&calls(), json!({"text": text})).await;
        self.call = super::text(&events.next().await["id"]);
        self.events = Some(events);
    }

    async fn next(&mut self) -> CallerEvent {
        let data = self.events.as_mut().unwrap().next().await;
        self.raw_events.push(data.clone());
        match data["type"].as_str().unwrap() {
            "chunk" => piece(&data["kind"], text(&data["text"])),
            "ask" => {
                self.ask = data["id"].clone();
                CallerEvent::Asked
            }
            "done" => CallerEvent::Ended(Ended::Done),
            "cancelled" => CallerEvent::Ended(Ended::Cancelled),
            "failed" => CallerEvent::Ended(Ended::Failed(text(&data["message"]))),
            _ => CallerEvent::Other,
        }
    }

    async fn cancel(&mut self) {
        let path = format!("/v1/calls/{}/cancel", self.call);
        let (status, answer) = self.web.post(&path, json!({})).await;
        assert!((200..300).contains(&status), "{status}: {answer}");
    }

    async fn answer(&mut self, text: &str) {
        let path = format!("/v1/calls/{}/answer", self.call);
        let body = json!({"ask_id": self.ask, "content": text});
        let (status, answer) = self.web.post(&path, body).await;
        assert_eq!(status, 204, "{answer}");
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }

    async fn once(&mut self, text: &str) -> (String, Ended) {
        let body = json!({"text": text, "stream": false});
        let (status, answer) = self.web.post(&calls(), body).await;
        self.raw_events = vec![answer.clone()];
        match status {
            200 => (super::text(&answer["text"]), Ended::Done),
            _ => (
                String::new(),
                Ended::Failed(super::text(&answer["message"])),
            ),
        }
    }
}
