//! [`Web`]: HTTP callers, either the platform with its secret or callers of the hub's own API. Streams are read
//! event by event with a third-party client. Client and stream are those of [`jackfield_kit::testing`].

use std::ops::{Deref, DerefMut};

pub use jackfield_kit::testing::answer;
use jackfield_kit::testing::{SOON, Sse, SseReader, TestClient};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::TestHub;

/// An HTTP client of a hub.
#[derive(Debug, Clone)]
pub struct Web(TestClient);

impl Deref for Web {
    type Target = TestClient;

    fn deref(&self) -> &TestClient {
        &self.0
    }
}

impl TestHub {
    /// Returns a client without credentials.
    pub fn web(&self) -> Web {
        Web(TestClient::new(self.url("")))
    }

    /// Returns a client with a token.
    pub fn web_of(&self, token: &str) -> Web {
        Web(self.web().0.with_token(token))
    }

    /// Returns a client with the platform secret.
    pub fn platform(&self) -> Web {
        let client = self.web().0;
        Web(client.with_header("x-platform-secret", self.platform_secret()))
    }
}

impl Web {
    /// Sends POST, and returns the stream of the response as [`Events`].
    pub async fn stream(&self, path: &str, body: Value) -> Events {
        Events(self.0.stream(path, body).await)
    }

    /// Starts a relay in the session `s-1`, and returns the stream.
    pub async fn relay(&self, agent: &str, request: &str) -> Events {
        self.stream("/api/relay", relay_to(agent, request)).await
    }

    /// Returns the sum of all values in `/metrics` whose line starts with `line`.
    pub async fn metric(&self, line: &str) -> f64 {
        let sent = self.ask(Method::GET, "/metrics").send().await;
        let text = sent.expect("an answer").text().await.expect("text");
        let values = text.lines().filter(|it| it.starts_with(line));
        let values = values.filter_map(|it| it.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }
}

/// Returns the body of a relay request in the session `s-1`.
pub fn relay_to(agent: &str, request: &str) -> Value {
    json!({"agent_id": agent, "session_id": "s-1", "request_id": request, "content": "hi"})
}

/// Downloads `url` without credentials.
pub async fn fetch(url: &str) -> Vec<u8> {
    let response = Client::new().get(url).timeout(SOON).send().await;
    let response = response.unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(response.status(), StatusCode::OK, "{url}");
    response.bytes().await.expect("a body").to_vec()
}

/// Replaces every link to a file of a hub in the JSON by `fetched: TEXT`, with the downloaded text.
pub async fn with_files(mut json: Value) -> Value {
    let mut unseen = vec![&mut json];
    while let Some(value) = unseen.pop() {
        match value {
            Value::String(url) if url.contains("/v1/files/") => {
                let text = String::from_utf8(fetch(url).await).expect("UTF-8");
                *url = format!("fetched: {text}");
            }
            Value::Array(items) => unseen.extend(items),
            Value::Object(members) => unseen.extend(members.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    json
}

/// A stream of server-sent events. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events(SseReader);

impl Deref for Events {
    type Target = SseReader;

    fn deref(&self) -> &SseReader {
        &self.0
    }
}

impl DerefMut for Events {
    fn deref_mut(&mut self) -> &mut SseReader {
        &mut self.0
    }
}

impl Events {
    /// Sends a request whose response is a stream.
    pub async fn of(request: RequestBuilder) -> Self {
        Self(SseReader::open(request).await)
    }

    /// Waits for the next event, or returns `None` at the end of the stream. Skips comments.
    pub async fn maybe_next(&mut self) -> Option<Sse> {
        self.0.next().await
    }

    /// Waits for the next event, and returns its data.
    pub async fn next(&mut self) -> Value {
        self.maybe_next().await.expect("the stream goes on").data
    }

    /// Asserts that the data of the next event equals `data`.
    pub async fn expect(&mut self, data: Value) {
        assert_eq!(self.next().await, data);
    }
}
