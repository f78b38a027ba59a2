//! An Agora agent.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    callee::{Callee, EndNotice, FAILURE_CODE, FAILURE_WORDS, PIECE, piece},
    caller::QUESTION,
    event::{FILE_BASE64, FILE_NAME, text},
    setup::Owner,
};

pub(crate) struct Agora {
    line: Option<Raw>,
    to: Value,
    request: Value,
    is_streaming: bool,
}

impl Agora {
    async fn send(&mut self, mut frame: Value) {
        frame["to"] = self.to.clone();
        self.line.as_mut().unwrap().send(frame).await;
    }

    async fn chunk(&mut self, words: &str, more: Value) {
        if !std::mem::replace(&mut self.is_streaming, true) {
            self.send(json!({"type": "reply", "stream": true, "stream_id": "x", "payload": {"request_id": self.request}}))
                .await;
        }
        let mut frame = json!({"type": "reply_chunk", "stream_id": "x", "chunk": words});
        let more = more.as_object().unwrap().clone();
        frame.as_object_mut().unwrap().extend(more);
        self.send(frame).await;
    }

    async fn frame(&mut self) -> Value {
        self.line.as_mut().unwrap().frame().await
    }

    async fn end(&mut self, mut payload: Value) {
        payload["request_id"] = self.request.clone();
        let kind = match self.is_streaming {
            true => json!({"type": "reply_end", "stream_id": "x", "payload": payload}),
            false => json!({"type": "reply", "payload": payload}),
        };
        self.send(kind).await;
    }
}

impl Callee for Agora {
    const PROTOCOL: Protocol = Protocol::Agora;

    async fn join(hub: &TestHub, owner: &Owner) -> Self {
        let line = match owner {
            Owner::Local => hub.agora("agent").await,
            Owner::Token(token) => hub.agora_of(token, "agent").await,
        };
        Self {
            line: Some(line),
            to: Value::Null,
            request: Value::Null,
            is_streaming: false,
        }
    }

    fn id(&self) -> String {
        "agent".to_owned()
    }

    async fn receive_call(&mut self) {
        let message = self.frame().await;
        let payload = &message["payload"];
        assert_eq!(payload["body"]["question"], QUESTION, "{message}");
        self.to = message["from"].clone();
        self.request = payload["request_id"].clone();
    }

    fn call(&self) -> String {
        let address = text(&self.to);
        address.strip_prefix("call:").unwrap().to_owned()
    }

    async fn answers_at_once(&mut self, words: &str) {
        self.end(json!({"answer": words})).await;
    }

    async fn send_text(&mut self, words: &str) {
        self.chunk(words, json!({})).await;
    }

    async fn works(&mut self) {
        self.chunk("hm", json!({"kind": "thinking"})).await;
        self.chunk("reading", json!({"kind": "status"})).await;
        let tool = |kind| json!({"kind": kind, "tool_name": "Bash", "tool_call_id": "t-1"});
        self.chunk("", tool("tool_start")).await;
        self.chunk("ok", tool("tool_result")).await;
    }

    async fn ends_with_file(&mut self) {
        let file = json!({"name": FILE_NAME, "bytes": FILE_BASE64, "type": "text/plain"});
        self.end(json!({"attachments": [file]})).await;
    }

    async fn asks(&mut self, question: &str) {
        let asked = json!({"id": Self::ASK, "kind": "input", "text": question});
        let payload = json!({"request_id": self.request, "input_required": asked});
        self.send(json!({"type": "reply", "payload": payload}))
            .await;
    }

    async fn is_answered(&mut self) -> String {
        let frame = self.frame().await;
        assert_eq!(frame["type"], "message", "{frame}");
        text(&frame["payload"]["body"]["content"])
    }

    async fn ends(&mut self) {
        self.end(json!({})).await;
    }

    async fn fails(&mut self) {
        let error = json!({"type": "error", "code": FAILURE_CODE, "message": FAILURE_WORDS, "request_id": self.request});
        self.send(error).await;
    }

    async fn leaves(&mut self) {
        self.line = None;
    }

    async fn end_notice(&mut self) -> EndNotice {
        let frame = self.frame().await;
        match (frame["type"].as_str(), frame["code"].as_str()) {
            (Some("cancel"), _) => EndNotice::Cancel,
            (Some("error"), Some("offline")) => EndNotice::CallerLeft,
            (Some("error"), Some("slow_reader")) => EndNotice::CallerDoesNotRead,
            _ => panic!("{frame}"),
        }
    }

    async fn floods(&mut self, bytes: usize) {
        let piece = piece();
        for _ in 0..bytes / PIECE {
            self.chunk(&piece, json!({})).await;
        }
    }
}
