//! An Agora agent as caller, on its own WebSocket.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    heard::{File, Heard, text},
    stage::Owner,
};

pub(crate) struct Agora {
    line: Option<Raw>,
    target: String,
    ask: Value,
    unheard: VecDeque<Heard>,
}

impl Agora {
    fn on(line: Raw, target: &str) -> Self {
        Self {
            line: Some(line),
            target: target.to_owned(),
            ask: Value::Null,
            unheard: VecDeque::new(),
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
            self.unheard.push_back(Heard::text(words));
        }
        for file in payload["attachments"].as_array().into_iter().flatten() {
            let file = match file.get("bytes") {
                Some(bytes) => File::bytes(&file["name"], bytes),
                None => File::linked(&file["name"], &file["url"]).await,
            };
            self.unheard.push_back(Heard::File(file));
        }
        for artifact in payload["artifacts"].as_array().into_iter().flatten() {
            for part in artifact["parts"].as_array().into_iter().flatten() {
                let file = &part["file"];
                let file = match file.get("bytes") {
                    Some(bytes) => File::bytes(&file["name"], bytes),
                    None => File::linked(&file["name"], &file["uri"]).await,
                };
                self.unheard.push_back(Heard::File(file));
            }
        }
        self.unheard.push_back(Heard::Done);
    }
}

impl Caller for Agora {
    const PROTOCOL: Protocol = Protocol::Agora;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self::on(hub.agora_narrow("caller").await, target)
    }

    async fn join_in_vain(hub: &TestHub, owner: &Owner, target: &str) -> Self {
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

    async fn hear(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.unheard.pop_front() {
                return heard;
            }
            let frame = self.line.as_mut().unwrap().frame().await;
            let payload = &frame["payload"];
            match frame["type"].as_str().unwrap() {
                "reply" if payload["input_required"].is_object() => {
                    self.ask = payload["input_required"]["id"].clone();
                    return Heard::Asked(text(&payload["input_required"]["text"]));
                }
                "reply" if frame["stream"] == true => {}
                "reply" | "reply_end" => self.end(payload).await,
                "reply_chunk" => {
                    let kind = frame["kind"].as_str();
                    return Heard::chunk(kind, text(&frame["chunk"]), &frame["tool_name"]);
                }
                "error" if frame["code"] == "cancelled" => return Heard::Cancelled,
                "error" => {
                    return Heard::Failed {
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

    async fn come_back(&mut self) {
        unreachable!("its calls end with its connection");
    }
}
