//! A scripted hub that sends raw bytes, so that a test controls each response and each cut.

use std::net::SocketAddr;

use jackfield_testkit::SOON;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// The hub.
pub(crate) struct FakeHub {
    listener: TcpListener,
}

/// A pending request.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    /// Method and path.
    pub(crate) what: String,
    /// The `Last-Event-ID` header.
    pub(crate) last: Option<String>,
    pub(crate) body: Value,
    socket: TcpStream,
}

impl FakeHub {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self { listener }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    fn addr(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Returns the next request.
    pub(crate) async fn next_request(&self) -> PendingRequest {
        let accepted = timeout(SOON, self.listener.accept()).await;
        let (socket, _) = accepted.expect("nobody asks").expect("a connection");
        timeout(SOON, PendingRequest::read(socket))
            .await
            .expect("a request")
    }

    /// Returns the next request, which must match `what`.
    pub(crate) async fn expect(&self, what: &str) -> PendingRequest {
        let request = self.next_request().await;
        assert_eq!(request.what, what, "{request:?}");
        request
    }
}

impl PendingRequest {
    async fn read(socket: TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await.expect("a line");
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let lines = head.iter().filter_map(|line| line.split_once(": "));
            let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.to_owned())
        };
        let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await.expect("a body");
        let mut words = head[0].split(' ');
        let (method, path) = (words.next().expect("one"), words.next().expect("one"));
        Self {
            what: format!("{method} {path}"),
            last: header("last-event-id"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            socket: reader.into_inner(),
        }
    }

    /// Responds with JSON.
    pub(crate) async fn answer(mut self, status: u16, body: &Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.write(&(head + &body)).await;
    }

    /// Responds with a stream of events; dropping it cuts the connection.
    pub(crate) async fn stream(mut self) -> Self {
        self.write(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
        )
        .await;
        self
    }

    /// Writes an event of a stream.
    pub(crate) async fn event(&mut self, name: &str, id: Option<&str>, data: &Value) {
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        self.write(&format!("event: {name}\n{id}data: {data}\n\n"))
            .await;
    }

    async fn write(&mut self, text: &str) {
        let written = self.socket.write_all(text.as_bytes()).await;
        written.expect("somebody reads");
        self.socket.flush().await.expect("somebody reads");
    }
}
