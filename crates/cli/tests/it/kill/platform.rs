//! The platform: sends relays by plain HTTP, each on its own connection, and may get no response.

use std::{io, net::SocketAddr};

use jackfield_testkit::SOON;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Tasks per page of the list.
const PAGE: usize = 200;

/// A client with the platform's secret.
#[derive(Debug, Clone)]
pub(crate) struct Platform {
    pub(crate) addr: SocketAddr,
    pub(crate) secret: String,
}

/// A written request with an unread response.
pub(crate) struct SentRequest(TcpStream);

impl SentRequest {
    /// Returns status and body of the response. Returns `None` if the hub was killed before the
    /// response's head.
    pub(crate) async fn answer(mut self) -> Option<(u16, Value)> {
        let mut bytes = Vec::new();
        // Bytes before a cut count.
        timeout(SOON, self.0.read_to_end(&mut bytes))
            .await
            .expect("an answer, or the end of the connection")
            .ok();
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = serde_json::from_str(body).unwrap_or_default();
        Some((status.expect("a status"), body))
    }
}

impl Platform {
    /// Writes a request without waiting for the response.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<SentRequest> {
        let Self { addr, secret } = self;
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {addr}\r\nx-platform-secret: {secret}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut socket = TcpStream::connect(addr).await?;
        socket.write_all(request.as_bytes()).await?;
        Ok(SentRequest(socket))
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let asked = self
            .send(method, path, body)
            .await
            .expect("the hub listens");
        asked.answer().await.expect("the hub lives")
    }

    /// Posts a body; returns status and response.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, Some(body)).await
    }

    /// Gets an existing resource.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Sends an async relay, which must be accepted.
    pub(crate) async fn relay(&self, relay: &Value) {
        let (status, answer) = self.post("/api/relay", relay).await;
        let accepted = json!({"accepted": true, "request_id": relay["request_id"]});
        assert_eq!((status, answer), (202, accepted));
    }

    /// The status of a request.
    pub(crate) async fn status(&self, agent: &str, request: &str) -> Value {
        let path = format!("/api/task-status?agent_id={agent}&request_id={request}");
        self.get(&path).await
    }

    /// The first page of callbacks in the outbox.
    pub(crate) async fn callbacks(&self, which: &str) -> Vec<Value> {
        let mut page = self.get(&format!("/v1/callbacks?{which}")).await;
        let Value::Array(found) = page["callbacks"].take() else {
            panic!("no list: {page}");
        };
        found
    }

    /// All tasks of the hub, newest first.
    pub(crate) async fn tasks(&self) -> Vec<Value> {
        let mut tasks: Vec<Value> = Vec::new();
        let mut path = format!("/v1/calls?limit={PAGE}");
        loop {
            let mut page = self.get(&path).await;
            let Value::Array(found) = page["tasks"].take() else {
                panic!("no list: {page}");
            };
            tasks.extend(found);
            match page["next"].as_str() {
                Some(next) => path = format!("/v1/calls?limit={PAGE}&before={next}"),
                None => return tasks,
            }
        }
    }
}

/// An async relay with its own session.
pub(crate) fn relay(agent: &str, request: &str, callback_url: &str) -> Value {
    json!({
        "agent_id": agent, "session_id": format!("s-{request}"), "request_id": request,
        "content": format!("question {request}"), "mode": "async", "callback_url": callback_url,
    })
}

/// The same relay, for an agent that may be offline.
pub(crate) fn patient(mut relay: Value) -> Value {
    relay["wait_online"] = json!("1h");
    relay
}
