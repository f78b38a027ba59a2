//! Test server that sends exact bytes: one script per request, in order.

use std::sync::Arc;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc},
    task::JoinSet,
};

/// Largest number of unread requests.
const ASKED: usize = 64;

/// Step of a script.
pub(crate) enum ScriptStep {
    /// Writes the text, with the request's id for `$ID` and the request's host for `$HOST`.
    Say(String),
    /// Writes the bytes unchanged.
    Bytes(Vec<u8>),
    /// Waits for a notification of the test.
    Wait(Arc<Notify>),
    /// Stays silent and keeps the connection open.
    Hang,
    /// Resets the connection.
    Reset,
}

/// Request that the server received.
#[derive(Debug)]
pub(crate) struct ScriptedRequest {
    /// Request line and headers; the headers in lower case.
    pub(crate) head: String,
    /// Body of the request.
    pub(crate) body: String,
}

impl ScriptedRequest {
    /// Returns the request line without the version.
    pub(crate) fn line(&self) -> &str {
        let line = self.head.lines().next().unwrap_or_default();
        line.trim_end_matches(" HTTP/1.1")
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of_name = |line: &'_ str| {
            line.split_once(": ")
                .filter(|(given, _)| *given == name)
                .is_some()
        };
        let line = self.head.lines().skip(1).find(|line| of_name(line))?;
        line.split_once(": ").map(|(_, value)| value)
    }

    /// Parses the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Scripted test server.
pub(crate) struct ScriptedServer {
    pub(crate) url: String,
    asked: mpsc::Receiver<ScriptedRequest>,
    _server: JoinSet<()>,
}

impl ScriptedServer {
    /// Starts a server that runs each script on a connection of its own.
    pub(crate) async fn start(scripts: Vec<Vec<ScriptStep>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (told, asked) = mpsc::channel(ASKED);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut open = JoinSet::new();
            for script in scripts {
                let (stream, _) = listener.accept().await.unwrap();
                let told = told.clone();
                open.spawn(async move { play(stream, script, &told).await });
            }
            open.join_all().await;
        });
        Self {
            url,
            asked,
            _server: server,
        }
    }

    /// Returns the next request.
    pub(crate) async fn asked(&mut self) -> ScriptedRequest {
        self.asked.recv().await.unwrap()
    }

    /// Returns all unread requests.
    pub(crate) fn asked_so_far(&mut self) -> Vec<ScriptedRequest> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).collect()
    }
}

async fn play(
    mut stream: TcpStream,
    script: Vec<ScriptStep>,
    told: &mpsc::Sender<ScriptedRequest>,
) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    let body = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
    let id = body["id"].to_string();
    let host = asked.header("host").unwrap_or_default().to_owned();
    told.send(asked).await.unwrap();
    for step in script {
        match step {
            ScriptStep::Say(text) => {
                // A disconnected client is no failure.
                let text = text.replace("$ID", &id).replace("$HOST", &host);
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            ScriptStep::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            ScriptStep::Wait(go) => go.notified().await,
            ScriptStep::Hang => std::future::pending().await,
            ScriptStep::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<ScriptedRequest> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
            let names = headers.lines().map(|header| {
                let (name, value) = header.split_once(':').unwrap_or_default();
                format!("{}: {}", name.to_ascii_lowercase(), value.trim())
            });
            let asked = ScriptedRequest {
                head: std::iter::once(line.to_owned())
                    .chain(names)
                    .collect::<Vec<_>>()
                    .join("\n"),
                body: body.to_owned(),
            };
            let length = asked
                .header("content-length")
                .map_or(0, |it| it.parse().unwrap());
            if body.len() >= length {
                return Some(asked);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Returns the steps for a complete answer and the end of the connection.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Vec<ScriptStep> {
    // The id is longer than the placeholder.
    let growth = body.matches("$ID").count() * (ID - "$ID".len());
    let length = body.len() + growth;
    vec![ScriptStep::Say(format!(
        "HTTP/1.1 {status}\r\nserver: x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))]
}

/// Length of an id in JSON: a UUID in quotes.
const ID: usize = 38;

/// Returns the steps for a complete JSON answer.
pub(crate) fn json(body: &str) -> Vec<ScriptStep> {
    answer("200 OK", "application/json", body)
}

/// Returns the head of a stream that lasts until the connection closes.
pub(crate) fn stream_head() -> ScriptStep {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
    ScriptStep::Say(head.to_owned())
}

/// Returns the head of a chunked stream with an explicit end.
pub(crate) fn chunked_head() -> ScriptStep {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    ScriptStep::Say(head.to_owned())
}
