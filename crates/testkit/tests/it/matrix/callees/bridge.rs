//! A bridge agent, with the required extensions.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    callee::{Callee, EndNotice, FAILURE_CODE, FAILURE_WORDS, PIECE, piece},
    caller::QUESTION,
    event::{FILE_BASE64, FILE_NAME, text},
    setup::Owner,
};

pub(crate) struct Bridge {
    line: Option<Raw>,
    request: Value,
    call: String,
}

impl Bridge {
    async fn send(&mut self, mut frame: Value) {
        frame["request_id"] = self.request.clone();
        self.line.as_mut().unwrap().send(frame).await;
    }

    async fn chunk(&mut self, words: &str, mut chunk: Value) {
        chunk["type"] = "chunk".into();
        chunk["delta"] = words.into();
        self.send(chunk).await;
    }

    async fn frame(&mut self) -> Value {
        self.line.as_mut().unwrap().frame().await
    }
}

impl Callee for Bridge {
    const PROTOCOL: Protocol = Protocol::Bridge;

    async fn join(hub: &TestHub, owner: &Owner) -> Self {
        let mut changes = json!({"extensions": ["input", "meta"]});
        if let Owner::Token(token) = owner {
            changes["token"] = token.clone().into();
        }
        Self {
            line: Some(hub.bridge_as("agent", changes).await),
            request: Value::Null,
            call: String::new(),
        }
    }

    fn id(&self) -> String {
        "agent".to_owned()
    }

    async fn receive_call(&mut self) {
        let message = self.frame().await;
        assert_eq!(message["content"], QUESTION, "{message}");
        self.request = message["request_id"].clone();
        self.call = text(&message["meta"]["parent"]);
    }

    fn call(&self) -> String {
        self.call.clone()
    }

    /// Like the published client.
    async fn answers_at_once(&mut self, words: &str) {
        self.chunk(words, json!({})).await;
        self.send(json!({"type": "done", "result": words})).await;
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
        let url = format!("data:text/plain;base64,{FILE_BASE64}");
        let file = json!({"name": FILE_NAME, "url": url, "type": "text/plain"});
        self.send(json!({"type": "done", "attachments": [file]}))
            .await;
    }

    async fn asks(&mut self, question: &str) {
        self.send(json!({"type": "ask", "ask_id": Self::ASK, "kind": "input", "text": question}))
            .await;
    }

    async fn is_answered(&mut self) -> String {
        let frame = self.frame().await;
        assert_eq!(frame["type"], "answer", "{frame}");
        text(&frame["content"])
    }

    async fn ends(&mut self) {
        self.send(json!({"type": "done"})).await;
    }

    async fn fails(&mut self) {
        self.send(json!({"type": "error", "code": FAILURE_CODE, "message": FAILURE_WORDS}))
            .await;
    }

    async fn leaves(&mut self) {
        self.line = None;
    }

    async fn end_notice(&mut self) -> EndNotice {
        let frame = self.frame().await;
        assert_eq!(frame["type"], "cancel", "{frame}");
        EndNotice::Cancel
    }

    async fn floods(&mut self, bytes: usize) {
        let piece = piece();
        for _ in 0..bytes / PIECE {
            self.chunk(&piece, json!({})).await;
        }
    }
}
