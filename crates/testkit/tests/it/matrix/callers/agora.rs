//! An Agora agent as caller, on its own WebSocket.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    setup::Owner,
};

pub(crate) struct Agora {
    line: Option<Raw>,
    target: String,
    ask: Value,
    pending: VecDeque<CallerEvent>,
}

impl Agora {
    fn on(line: Raw, target: &str) -> Self {
        Self {
            line: Some(line),
            target: target.to_owned(),
            ask: Value::Null,
            pending: VecDeque::new(),
        }
    }

    async fn send(&mut self, mut frame: Value) {
        frame["to"] = self.target.clone().into();
        self.line.as_mut().unwrap().send(frame).await;
    }

    /// A whole answer, or the end of an answer.
    async fn end(&mut self, payload: &Value) {
        let words = [&payload["body"]["answer"], &payload["answer"]];
        let words = words.into_iter().find_map(Value::as_str);
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            self.pending.push_back(CallerEvent::text(words));
        }
        for file in payload["attachments"].as_array().into_iter().flatten() {
            let file = match file.get("bytes") {
                Some(bytes) => File::bytes(&file["name"], bytes),
                None => File::linked(&file["name"], &file["url"]).await,
            };
            self.pending.push_back(CallerEvent::File(file));
        }
        for artifact in payload["artifacts"].as_array().into_iter().flatten() {
            for part in artifact["parts"].as_array().into_iter().flatten() {
                let file = &part["file"];
                let file = match file.get("bytes") {
                    Some(bytes) => File::bytes(&file["name"], bytes),
                    None => File::linked(&file["name"], &file["uri"]).await,
                };
                self.pending.push_back(CallerEvent::File(file));
            }
        }
        self.pending.push_back(CallerEvent::Done);
    }
}

impl Caller for Agora {
    const PROTOCOL: Protocol = Protocol::Agora;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self::on(hub.agora_narrow("caller").await, target)
    }

    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self {
        let line = match owner {
            Owner::Local => hub.agora("caller").await,
            Owner::Token(token) => hub.agora_of(token, "caller").await,
        };
        Self::on(line, target)
    }

    async fn call(&mut self) {
        let body = json!({"question": QUESTION});
        let payload = json!({"action": "query", "body": body, "request_id": "r-1"});
        self.send(json!({"type": "send", "payload": payload})).await;
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let frame = self.line.as_mut().unwrap().frame().await;
            let payload = &frame["payload"];
            match frame["type"].as_str().unwrap() {
                "reply" if payload["input_required"].is_object() => {
                    self.ask = payload["input_required"]["id"].clone();
                    return CallerEvent::Asked(text(&payload["input_required"]["text"]));
                }
                "reply" if frame["stream"] == true => {}
                "reply" | "reply_end" => self.end(payload).await,
                "reply_chunk" => {
                    let kind = frame["kind"].as_str();
                    return CallerEvent::chunk(kind, text(&frame["chunk"]), &frame["tool_name"]);
                }
                "error" if frame["code"] == "cancelled" => return CallerEvent::Cancelled,
                "error" => {
                    return CallerEvent::Failed {
                        code: text(&frame["code"]),
                        words: text(&frame["message"]),
                    };
                }
                _ => panic!("{frame}"),
            }
        }
    }

    async fn answer(&mut self, words: &str) {
        let payload = json!({"request_id": "r-1", "ask_id": self.ask, "body": {"content": words}});
        self.send(json!({"type": "send", "payload": payload})).await;
    }

    async fn cancel(&mut self) {
        self.send(json!({"type": "cancel", "request_id": "r-1"}))
            .await;
    }

    async fn leave(&mut self) {
        self.line = None;
    }

    async fn reconnect(&mut self) {
        unreachable!("its calls end with its connection");
    }
}
