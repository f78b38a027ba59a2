//! [`TestClient`]: an HTTP client of a server under test, with JSON bodies and event streams.

use std::sync::Arc;

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use super::{SOON, SseReader, spec};

/// An HTTP client of one server.
#[derive(Debug, Clone)]
pub struct TestClient {
    client: Client,
    origin: String,
    /// Header of every request, such as a token.
    header: Option<(&'static str, String)>,
    /// OpenAPI description that every answer must fit.
    spec: Option<Arc<Value>>,
}

impl TestClient {
    /// Creates a client of the server at `origin`.
    pub fn new(origin: impl Into<String>) -> Self {
        Self {
            client: Client::new(),
            origin: origin.into(),
            header: None,
            spec: None,
        }
    }

    /// Opens a new connection for each request: for tests with a paused clock, in which a server closes idle
    /// connections at once.
    #[must_use]
    pub fn without_idle_connections(mut self) -> Self {
        let client = Client::builder().pool_max_idle_per_host(0);
        self.client = client.build().unwrap();
        self
    }

    /// Sends a token with every request.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        self.with_header("authorization", format!("Bearer {token}"))
    }

    /// Sends a header with every request, instead of an earlier one.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    /// Checks every answer of [`TestClient::send`] against an OpenAPI description.
    #[must_use]
    pub fn with_spec(mut self, spec: Value) -> Self {
        self.spec = Some(Arc::new(spec));
        self
    }

    /// Returns the description of [`TestClient::with_spec`].
    pub fn spec(&self) -> &Value {
        self.spec.as_deref().unwrap_or(&Value::Null)
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Creates a request.
    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, self.url(path)).timeout(SOON);
        match &self.header {
            Some((name, value)) => request.header(*name, value),
            None => request,
        }
    }

    /// Creates a request with an optional token and body; a body of `null` is none.
    pub fn ask_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: &Value,
    ) -> RequestBuilder {
        let mut request = self.ask(method, path);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        request
    }

    /// Sends a request, and returns status and JSON body; an empty body gives `null`.
    pub async fn send(&self, request: RequestBuilder) -> (u16, Value) {
        let request = request.build().unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = self.client.execute(request).await.unwrap();
        let status = response.status().as_u16();
        let body = json_of(response).await;
        if let Some(spec) = &self.spec {
            spec::check(spec, method.as_str(), &path, status, &body);
        }
        (status, body)
    }

    /// Sends GET, and returns status and body.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.send(self.ask(Method::GET, path)).await
    }

    /// Sends POST, and returns status and body.
    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(self.ask(Method::POST, path).json(&body)).await
    }

    /// Sends PATCH, and returns status and body.
    pub async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(self.ask(Method::PATCH, path).json(&body)).await
    }

    /// Sends DELETE, and returns status and body.
    pub async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(self.ask(Method::DELETE, path)).await
    }

    /// Sends POST, and returns the stream of the response.
    pub async fn stream(&self, path: &str, body: Value) -> SseReader {
        SseReader::open(self.ask(Method::POST, path).json(&body)).await
    }
}

/// Sends a request, and returns status and JSON body; an empty body gives `null`.
pub async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, json_of(response).await)
}

/// Returns the JSON body of a response; an empty body gives `null`.
pub async fn json_of(response: Response) -> Value {
    match &*response.text().await.unwrap() {
        "" => Value::Null,
        text => {
            let body = serde_json::from_str(text);
            body.unwrap_or_else(|error| panic!("{text:?} is not JSON: {error}"))
        }
    }
}
