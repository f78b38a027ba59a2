//! An Agora agent as caller.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use super::{Caller, CallerEvent, Ended, Questions, piece, text};
use crate::a2a_remote::server::ACTOR;

pub(crate) struct Agora {
    line: Raw,
    calls: usize,
    ask: Value,
    /// The end, if it arrived with the answer.
    end: Option<Ended>,
    raw_events: Vec<Value>,
}

impl Agora {
    fn request(&self) -> String {
        format!("r-{}", self.calls)
    }
}

impl Caller for Agora {
    const NAME: &'static str = "an Agora agent";
    const QUESTIONS: Questions = Questions::Answered;

    async fn join(hub: &TestHub) -> Self {
        Self {
            line: hub.agora("ada").await,
            calls: 0,
            ask: Value::Null,
            end: None,
            raw_events: Vec::new(),
        }
    }

    async fn begin(&mut self, text: &str) {
        self.calls += 1;
        self.raw_events.clear();
        let body = json!({"question": text});
        let payload = json!({"action": "query", "body": body, "request_id": self.request()});
        let send = json!({"type": "send", "to": ACTOR, "payload": payload});
        self.line.send(send).await;
    }

    async fn next(&mut self) -> CallerEvent {
        if let Some(end) = self.end.take() {
            return CallerEvent::Ended(end);
        }
        let frame = self.line.frame().await;
        self.raw_events.push(frame.clone());
        let ask = &frame["payload"]["input_required"];
        match frame["type"].as_str().unwrap() {
            "reply_chunk" => piece(&frame["kind"], text(&frame["chunk"])),
            "reply" | "reply_end" if ask.is_object() => {
                self.ask = ask["id"].clone();
                CallerEvent::Asked
            }
            "reply" if frame["stream"] == true => CallerEvent::Other,
            // An answer without chunks.
            "reply" => {
                self.end = Some(Ended::Done);
                CallerEvent::Text(text(&frame["payload"]["body"]["answer"]))
            }
            "reply_end" => CallerEvent::Ended(Ended::Done),
            "error" if frame["code"] == "cancelled" => CallerEvent::Ended(Ended::Cancelled),
            "error" => CallerEvent::Ended(Ended::Failed(text(&frame["message"]))),
            _ => panic!("{frame}"),
        }
    }

    async fn cancel(&mut self) {
        let cancel = json!({"type": "cancel", "to": ACTOR, "request_id": self.request()});
        self.line.send(cancel).await;
    }

    async fn answer(&mut self, text: &str) {
        let payload =
            json!({"request_id": self.request(), "ask_id": self.ask, "body": {"content": text}});
        let send = json!({"type": "send", "to": ACTOR, "payload": payload});
        self.line.send(send).await;
    }

    fn raw_events(&self) -> &[Value] {
        &self.raw_events
    }
}
