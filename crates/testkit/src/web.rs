//! [`Web`]: HTTP callers, either the platform with its secret or callers of the hub's own API. Streams are read event by event with a third-party client.

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::{SOON, TestHub};

/// An HTTP client of a hub.
#[derive(Debug, Clone)]
pub struct Web {
    client: Client,
    origin: String,
    /// Authentication header of every request.
    proof: Option<(&'static str, String)>,
}

impl TestHub {
    /// Returns a client without credentials.
    pub fn web(&self) -> Web {
        Web {
            client: Client::new(),
            origin: self.url(""),
            proof: None,
        }
    }

    /// Returns a client with a token.
    pub fn web_of(&self, token: &str) -> Web {
        Web {
            proof: Some(("authorization", format!("Bearer {token}"))),
            ..self.web()
        }
    }

    /// Returns a client with the platform secret.
    pub fn platform(&self) -> Web {
        Web {
            proof: Some(("x-platform-secret", self.platform_secret())),
            ..self.web()
        }
    }
}

impl Web {
    /// Creates a request with the client's credentials.
    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .client
            .request(method, format!("{}{path}", self.origin))
            .timeout(SOON);
        match &self.proof {
            Some((name, value)) => request.header(*name, value),
            None => request,
        }
    }

    /// Sends GET, and returns status and body.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.ask(Method::GET, path)).await
    }

    /// Sends POST, and returns status and body.
    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        answer(self.ask(Method::POST, path).json(&body)).await
    }

    /// Sends POST, and returns the stream of the response as [`Events`].
    pub async fn stream(&self, path: &str, body: Value) -> Events {
        Events::of(self.ask(Method::POST, path).json(&body)).await
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

/// Sends a request, and returns status and JSON body; an empty body gives `null`.
pub async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let text = response.text().await.expect("text");
    if text.is_empty() {
        return (status, Value::Null);
    }
    let body = serde_json::from_str(&text);
    (
        status,
        body.unwrap_or_else(|error| panic!("{text:?} is not JSON: {error}")),
    )
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

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// Name of the event, if the protocol has names.
    pub event: Option<String>,
    /// Id of the event, if present.
    pub id: Option<String>,
    /// Data of the event.
    pub data: Value,
}

/// A stream of server-sent events. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events {
    response: Response,
    unread: Vec<u8>,
}

impl Events {
    /// Sends a request whose response is a stream.
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("an answer");
        let status = response.status();
        if status != StatusCode::OK {
            panic!("{status}: {}", response.text().await.expect("text"));
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            unread: Vec::new(),
        }
    }

    /// Waits for the next event as raw text, including the final empty line. Returns `None` at the end of the
    /// stream.
    pub async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block = self.unread.drain(..at + 2).collect();
                return Some(String::from_utf8(block).expect("UTF-8"));
            }
            let bytes = tokio::time::timeout(SOON, self.response.chunk()).await;
            match bytes.expect("nothing came in time") {
                Ok(Some(bytes)) => self.unread.extend_from_slice(&bytes),
                Ok(None) => {
                    assert_eq!(self.unread, b"", "the last event is cut off");
                    return None;
                }
                Err(error) => panic!("the stream broke: {error}"),
            }
        }
    }

    /// Waits for the next event, or returns `None` at the end of the stream. Skips comments.
    pub async fn maybe_next(&mut self) -> Option<Heard> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| {
                let mut lines = block.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            if let Some(data) = field("data") {
                let parsed = serde_json::from_str(data);
                return Some(Heard {
                    event: field("event").map(str::to_owned),
                    id: field("id").map(str::to_owned),
                    data: parsed.unwrap_or_else(|error| panic!("{block:?}: {error}")),
                });
            }
        }
    }

    /// Waits for the next event, and returns its data.
    pub async fn next(&mut self) -> Value {
        self.maybe_next().await.expect("the stream goes on").data
    }

    /// Asserts that the data of the next event equals `data`.
    pub async fn expect(&mut self, data: Value) {
        assert_eq!(self.next().await, data);
    }

    /// Returns the data of all events until the end of the stream.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(heard) = self.maybe_next().await {
            all.push(heard.data);
        }
        all
    }
}
