//! A local HTTP server that responds with raw bytes and records its requests.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// The request line: method and path.
    pub(crate) line: String,
    /// The headers, in lower case.
    pub(crate) headers: String,
    /// The body.
    pub(crate) body: Value,
}

/// The server; stopped when dropped.
pub(crate) struct Server {
    addr: std::net::SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    _serving: JoinSet<()>,
}

/// Makes the response to a request.
type Answer = Arc<dyn Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync>;

impl Server {
    /// Starts a server with these responses. An endless response is repeated until the client disconnects,
    /// see [`endless`].
    pub(crate) async fn start(
        answer: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let received: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let answer: Answer = Arc::new(answer);
        let mut serving = JoinSet::new();
        let all = received.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, answer.clone(), all.clone()));
            }
        });
        Self {
            addr,
            received,
            _serving: serving,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Returns the received requests, without those for the card or the list of models.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        let received = self.received.lock().clone();
        let is_work = |received: &ReceivedRequest| {
            !received.line.ends_with("/models") && !received.line.ends_with("/card")
        };
        received.into_iter().filter(is_work).collect()
    }

    /// Returns a URL without a listener.
    pub(crate) async fn unreachable_url() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, all: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let mut bytes = Vec::new();
    let end = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let headers = headers.to_ascii_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let received = ReceivedRequest {
        line: line.trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default(),
    };
    all.lock().push(received.clone());
    let answer = answer(&received);
    let is_endless = answer.ends_with(ENDLESS);
    let answer = answer.strip_suffix(ENDLESS).unwrap_or(&answer);
    // The client may have disconnected.
    if stream.write_all(answer).await.is_err() {
        return;
    }
    while is_endless && stream.write_all(&[b'x'; 1 << 16]).await.is_ok() {}
}

/// Marks a response as endless.
const ENDLESS: &[u8] = b"(endless)";

/// A response that ends with the connection.
pub(crate) fn answer(status: &str, media: &str, body: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n");
    (head + body).into_bytes()
}

/// A response without an end.
pub(crate) fn endless(media: &str, begin: &str) -> Vec<u8> {
    let mut all = answer("200 OK", media, begin);
    all.extend_from_slice(ENDLESS);
    all
}

/// A response as a stream of events.
pub(crate) fn events(data: &[&str]) -> Vec<u8> {
    let events: String = data
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    answer("200 OK", "text/event-stream", &events)
}
