//! The seed's interface: its bodies, copied, and its answers and streams.

use std::{ops::Deref, sync::Arc};

use jackfield_a2a::router;
use jackfield_core::{call::Call, limits::Limits, principal::Principal};
pub(crate) use jackfield_kit::testing::{Scripted, read_until, soon};
use jackfield_kit::testing::{Sse, SseReader, TestHub, TestSettings, answer_text, send_raw};
use jackfield_model::{Done, End};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The body of the seed's curl command, copied.
pub(crate) const CURL: &str = r#"{
    "jsonrpc": "2.0",
    "method": "message/send",
    "id": "req-1",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "user",
        "agentId": "my-agent",
        "contextId": "session-123",
        "parts": [{"kind": "text", "text": "Hello!"}]
      }
    }
  }"#;

/// The parts of [`CURL`].
pub(crate) const PARTS: &str = r#"[{"kind": "text", "text": "Hello!"}]"#;

pub(crate) const SEND: &str = "/a2a/message/send";
pub(crate) const STREAM: &str = "/a2a/message/stream";

/// The seed's body with one thing changed, which must be there.
pub(crate) fn changed(from: &str, to: &str) -> String {
    assert!(CURL.contains(from), "{from}");
    CURL.replacen(from, to, 1)
}

/// A hub with this door.
pub(crate) struct A2aHub(TestHub);

impl Deref for A2aHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl A2aHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            ..TestSettings::default()
        };
        Self(crate::start(settings, router).await)
    }

    /// A request as the seed's curl command makes it.
    pub(crate) fn request(&self, path: &str, body: impl Into<String>) -> RequestBuilder {
        let request = self.ask(Method::POST, path).body(body.into());
        request.header("Content-Type", "application/json")
    }

    /// The answer to a request.
    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> (StatusCode, Value) {
        told(self.request(path, body)).await
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, body: impl Into<String>) -> Stream {
        Stream::of(self.request(STREAM, body)).await
    }

    /// A connection on which the test writes the bytes itself.
    pub(crate) async fn raw(&self, request: &str) -> TcpStream {
        send_raw(self.addr, request).await
    }

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> Principal {
        let token = self.token(name, &["agent:*"]).await;
        self.principal_of(&token)
    }
}

/// Sends a request and takes the answer apart, which must be JSON.
pub(crate) async fn told(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (status, body)
}

/// The body of a refusal that says nothing more than it must.
pub(crate) fn error(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}

/// The body of a refusal that names the core's reason.
pub(crate) fn failed(id: impl Into<Value>, code: i64, message: &str, reason: &str) -> Value {
    let mut body = error(id, code, message);
    body["error"]["data"] = json!({"reason": reason});
    body
}

/// Answers the next call of an agent with these words, and gives it back.
pub(crate) async fn answered(agent: &mut Scripted, words: &str) -> Arc<Call> {
    let serving = agent.next_call().await;
    let call = serving.call().clone();
    answer_text(serving, words);
    call
}

/// The end of an answer that is given only there.
pub(crate) fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.into()),
        ..Done::default()
    }))
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream(pub(crate) SseReader);

impl Stream {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self(SseReader::open(request).await)
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        self.0.next().await
    }

    /// The data of the next event, which must be of this name.
    pub(crate) async fn expect(&mut self, event: &str) -> Value {
        let next = self.next().await.expect("the stream goes on");
        assert_eq!(next.event.as_deref(), Some(event), "{next:?}");
        next.data
    }

    /// Checks that nothing more comes.
    pub(crate) async fn ends(&mut self) {
        assert_eq!(self.next().await, None);
    }
}
