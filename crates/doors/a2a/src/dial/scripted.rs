//! A server for tests that says exactly what it is told, byte by byte: one script for each request, in their order.

use std::sync::Arc;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc},
    task::JoinSet,
};

/// How many requests may wait to be looked at.
const ASKED: usize = 64;

/// One thing that the server does.
pub(crate) enum Step {
    /// It writes this; `$ID` stands for the id of the request, `$HOST` for where it went.
    Say(String),
    /// It writes exactly these bytes.
    Bytes(Vec<u8>),
    /// It waits until the test lets it go on.
    Wait(Arc<Notify>),
    /// It says nothing more and does not hang up.
    Hang,
    /// It hangs up in the middle of everything.
    Reset,
}

/// What the server was asked.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The first line and the headers, in small letters but for the first line.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

impl Asked {
    /// The first line, without the version.
    pub(crate) fn line(&self) -> &str {
        let line = self.head.lines().next().unwrap_or_default();
        line.trim_end_matches(" HTTP/1.1")
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of_name = |line: &'_ str| {
            line.split_once(": ")
                .filter(|(given, _)| *given == name)
                .is_some()
        };
        let line = self.head.lines().skip(1).find(|line| of_name(line))?;
        line.split_once(": ").map(|(_, value)| value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The server.
pub(crate) struct Scripted {
    pub(crate) url: String,
    asked: mpsc::Receiver<Asked>,
    _server: JoinSet<()>,
}

impl Scripted {
    /// A server that follows these scripts, each on a connection of its own.
    pub(crate) async fn start(scripts: Vec<Vec<Step>>) -> Self {
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

    /// What it was asked next.
    pub(crate) async fn asked(&mut self) -> Asked {
        self.asked.recv().await.unwrap()
    }

    /// What it was asked, and nobody has looked at yet.
    pub(crate) fn asked_so_far(&mut self) -> Vec<Asked> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).collect()
    }
}

async fn play(mut stream: TcpStream, script: Vec<Step>, told: &mpsc::Sender<Asked>) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    let body = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
    let id = body["id"].to_string();
    let host = asked.header("host").unwrap_or_default().to_owned();
    told.send(asked).await.unwrap();
    for step in script {
        match step {
            Step::Say(text) => {
                // Whoever has hung up does not hear it.
                let text = text.replace("$ID", &id).replace("$HOST", &host);
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Step::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::Wait(go) => go.notified().await,
            Step::Hang => std::future::pending().await,
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
            let names = headers.lines().map(|header| {
                let (name, value) = header.split_once(':').unwrap_or_default();
                format!("{}: {}", name.to_ascii_lowercase(), value.trim())
            });
            let asked = Asked {
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

/// A whole answer, and the end of the connection.
pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Vec<Step> {
    // The id of a request is longer than its place-holder.
    let growth = body.matches("$ID").count() * (ID - "$ID".len());
    let length = body.len() + growth;
    vec![Step::Say(format!(
        "HTTP/1.1 {status}\r\nserver: x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))]
}

/// The length of an id in JSON: a UUID in quotes.
const ID: usize = 38;

/// A whole answer in JSON.
pub(crate) fn json(body: &str) -> Vec<Step> {
    answer("200 OK", "application/json", body)
}

/// The head of a stream that goes on until the connection ends.
pub(crate) fn stream_head() -> Step {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
    Step::Say(head.to_owned())
}

/// The head of a stream in chunks, whose end is told.
pub(crate) fn chunked_head() -> Step {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    Step::Say(head.to_owned())
}
