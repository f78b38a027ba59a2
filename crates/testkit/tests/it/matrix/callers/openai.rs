//! A client of OpenAI's API, by streamed chat completions.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_kit::testing::SseReader;
use jackfield_testkit::{TestHub, Web};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    setup::Owner,
};

pub(crate) struct OpenAi {
    web: Web,
    target: String,
    messages: Vec<Value>,
    reader: Option<SseReader>,
    pending: VecDeque<CallerEvent>,
    /// The content of the answer so far.
    said: String,
}

impl OpenAi {
    fn of(web: Web, target: &str) -> Self {
        Self {
            web,
            target: target.to_owned(),
            messages: Vec::new(),
            reader: None,
            pending: VecDeque::new(),
            said: String::new(),
        }
    }

    /// The request with another message of the user.
    fn ask(&mut self, words: &str) -> RequestBuilder {
        self.messages
            .push(json!({"role": "user", "content": words}));
        let body = json!({"model": self.target, "messages": self.messages, "stream": true});
        let request = self.web.ask(Method::POST, "/v1/chat/completions");
        request.json(&body)
    }

    /// Reads a chunk.
    async fn read(&mut self, chunk: &Value) {
        if let Some(error) = chunk.get("error") {
            self.pending.push_back(CallerEvent::Failed {
                code: text(&error["code"]),
                words: text(&error["message"]),
            });
            return;
        }
        let choice = &chunk["choices"][0];
        let content = text(&choice["delta"]["content"]);
        self.said.push_str(&content);
        for line in text(&choice["delta"]["reasoning_content"]).lines() {
            let event = CallerEvent::Thinking(line.to_owned());
            // A line break that ends the thought before.
            if !line.is_empty() {
                self.pending.push_back(event);
            }
        }
        let is_question = chunk["jackfield"]["waits_for"] == "answer";
        match linked_file(&content) {
            Some((name, url)) => {
                let file = File::linked(&name.into(), &url.into()).await;
                self.pending.push_back(CallerEvent::File(file));
            }
            None if is_question && !content.is_empty() => {
                self.pending.push_back(CallerEvent::Asked(content));
            }
            None if !content.is_empty() => self.pending.push_back(CallerEvent::Text(content)),
            None => {}
        }
        if choice["finish_reason"] == "stop" && !is_question {
            self.pending.push_back(CallerEvent::Done);
        }
    }
}

/// The name and the URL of a Markdown link to a file of the hub.
fn linked_file(content: &str) -> Option<(String, String)> {
    let (name, url) = content.strip_prefix('[')?.split_once("](")?;
    let url = url.strip_suffix(')')?;
    Some((name.to_owned(), url.to_owned()))
}

impl Caller for OpenAi {
    const PROTOCOL: Protocol = Protocol::OpenAi;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self::of(hub.web(), target)
    }

    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self {
        Self::of(owner.web(hub), target)
    }

    async fn call(&mut self) {
        let request = self.ask(QUESTION);
        self.reader = Some(SseReader::open(request).await);
    }

    fn converted_kinds(from_peer: bool) -> Vec<CallerEvent> {
        let lines: &[&str] = match from_peer {
            true => &["reading"],
            false => &["hm", "reading", "Uses Bash"],
        };
        let lines = lines.iter().map(|line| (*line).to_owned());
        lines.map(CallerEvent::Thinking).collect()
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let Some(reader) = &mut self.reader else {
                return CallerEvent::Cancelled;
            };
            let block = reader.block().await.expect("the stream goes on");
            let data = block.strip_prefix("data: ").map(str::trim);
            if let Some(data) = data.filter(|data| *data != "[DONE]") {
                let chunk: Value = serde_json::from_str(data).unwrap();
                self.read(&chunk).await;
            }
        }
    }

    async fn answer(&mut self, words: &str) {
        let said = std::mem::take(&mut self.said);
        self.messages
            .push(json!({"role": "assistant", "content": said}));
        let request = self.ask(words);
        self.reader = Some(SseReader::open(request).await);
    }

    async fn cancel(&mut self) {
        // The protocol has no other way.
        self.reader = None;
    }

    async fn leave(&mut self) {
        self.reader = None;
    }

    async fn reconnect(&mut self) {
        unreachable!("its calls end with its connection");
    }

    async fn refused(&mut self) -> CallerEvent {
        let request = self.ask(QUESTION);
        let (status, answer) = jackfield_testkit::answer(request).await;
        assert_eq!(status, 404, "{answer}");
        CallerEvent::Failed {
            code: text(&answer["error"]["code"]),
            words: text(&answer["error"]["message"]),
        }
    }
}
