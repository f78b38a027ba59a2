//! The platform, by the bridge's relay.

use jackfield_testkit::{Events, TestHub, Web};
use serde_json::{Value, json};

use super::{Caller, CallerEvent, Ended, Questions, piece, text};
use crate::a2a_remote::server::ACTOR;

pub(crate) struct Platform {
    web: Web,
    events: Option<Events>,
    calls: usize,
    raw_events: Vec<Value>,
}

impl Platform {
    fn names(&self) -> Value {
        json!({"agent_id": ACTOR, "session_id": "s-1", "request_id": format!("r-{}", self.calls)})
    }
}

impl Caller for Platform {
    const NAME: &'static str = "the platform";
    const QUESTIONS: Questions = Questions::Shown;

    async fn join(hub: &TestHub) -> Self {
        Self {
            web: hub.platform(),
            events: None,
            calls: 0,
            raw_events: Vec::new(),
        }
    }

    async fn begin(&mut self, text: &str) {
        self.calls += 1;
        self.raw_events.clear();
        let mut body = self.names();
        body["content"] = text.into();
        self.events = Some(self.web.stream("/api/relay", body).await);
    }

    async fn next(&mut self) -> CallerEvent {
        let data = self.events.as_mut().unwrap().next().await;
        self.raw_events.push(data.clone());
        match data["type"].as_str().unwrap() {
            "chunk" => piece(&data["kind"], text(&data["delta"])),
            "done" => CallerEvent::Ended(Ended::Done),
            "error" if data["message"] == "Request cancelled" => {
                CallerEvent::Ended(Ended::Cancelled)
            }
            "error" => CallerEvent::Ended(Ended::Failed(text(&data["message"]))),
            _ => CallerEvent::Other,
        }
    }

    async fn cancel(&mut self) {
        let (status, answer) = self.web.post("/api/cancel", self.names()).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn answer(&mut self, _: &str) {
        unreachable!("it is told only");
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }
}
