//! The platform, by the bridge's relay.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Events, TestHub, Web};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    setup::Owner,
};

pub(crate) struct Bridge {
    web: Web,
    target: String,
    events: Option<Events>,
    pending: VecDeque<CallerEvent>,
}

impl Bridge {
    fn names(&self) -> Value {
        json!({"agent_id": self.target, "session_id": "s-1", "request_id": "r-1"})
    }

    fn request(&self) -> Value {
        let mut request = self.names();
        request["content"] = QUESTION.into();
        request
    }
}

impl Caller for Bridge {
    const PROTOCOL: Protocol = Protocol::Bridge;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self {
            web: hub.platform(),
            target: target.to_owned(),
            events: None,
            pending: VecDeque::new(),
        }
    }

    async fn join_without_access(hub: &TestHub, _: &Owner, target: &str) -> Self {
        Self::join(hub, target, Protocol::Bridge).await
    }

    async fn call(&mut self) {
        self.events = Some(self.web.stream("/api/relay", self.request()).await);
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let data = self.events.as_mut().unwrap().next().await;
            match data["type"].as_str().unwrap() {
                "chunk" => {
                    let kind = data["kind"].as_str();
                    return CallerEvent::chunk(kind, text(&data["delta"]), &data["tool_name"]);
                }
                "done" => {
                    for file in data["attachments"].as_array().into_iter().flatten() {
                        let file = File::linked(&file["name"], &file["url"]).await;
                        self.pending.push_back(CallerEvent::File(file));
                    }
                    self.pending.push_back(CallerEvent::Done);
                }
                "error" if data["message"] == "Request cancelled" => return CallerEvent::Cancelled,
                "error" => {
                    return CallerEvent::Failed {
                        code: text(&data["code"]),
                        words: text(&data["message"]),
                    };
                }
                "keepalive" => {}
                _ => panic!("{data}"),
            }
        }
    }

    async fn answer(&mut self, _: &str) {
        unreachable!("it is told only");
    }

    async fn cancel(&mut self) {
        let (status, answer) = self.web.post("/api/cancel", self.names()).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn leave(&mut self) {
        self.events = None;
    }

    async fn reconnect(&mut self) {
        unreachable!("its calls end with its connection");
    }

    async fn refused(&mut self) -> CallerEvent {
        let (status, answer) = self.web.post("/api/relay", self.request()).await;
        assert_eq!(status, 404, "{answer}");
        CallerEvent::Failed {
            code: text(&answer["error"]),
            words: text(&answer["message"]),
        }
    }
}
