//! [`SseReader`]: the client's end of a stream of server-sent events.

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;

use super::{judged, soon};

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Sse {
    /// Name of the event, if the protocol has names.
    pub event: Option<String>,
    /// Id of the event, if present.
    pub id: Option<String>,
    /// Data of the event, which is JSON.
    pub data: Value,
}

/// A stream of server-sent events. Dropping it closes the connection.
#[derive(Debug)]
pub struct SseReader {
    /// The response that is read.
    pub response: Response,
    /// Bytes and not text: a chunk may end within a character.
    unread: Vec<u8>,
}

impl SseReader {
    /// Sends a request whose response is a stream. Panics if the request is refused.
    pub async fn open(request: RequestBuilder) -> Self {
        Self::of(request.send().await.unwrap()).await
    }

    /// Reads a response. Panics if it is no stream.
    pub async fn of(response: Response) -> Self {
        let status = response.status();
        if status != StatusCode::OK {
            panic!("{status}: {}", response.text().await.unwrap());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
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
                return Some(String::from_utf8(block).unwrap());
            }
            match soon(self.response.chunk()).await.unwrap() {
                Some(bytes) => self.unread.extend_from_slice(&bytes),
                None => {
                    assert_eq!(self.unread, b"", "the last event is cut off");
                    return None;
                }
            }
        }
    }

    /// Waits for the next event, or returns `None` at the end of the stream. Skips comments.
    pub async fn next(&mut self) -> Option<Sse> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| {
                let mut lines = block.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            if let Some(data) = field("data") {
                let parsed = serde_json::from_str(data);
                let data = parsed.unwrap_or_else(|error| panic!("{block:?}: {error}"));
                judged::event(self.response.url().path(), &data);
                return Some(Sse {
                    event: field("event").map(str::to_owned),
                    id: field("id").map(str::to_owned),
                    data,
                });
            }
        }
    }

    /// Returns the data of all events until the end of the stream.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(next) = self.next().await {
            all.push(next.data);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn a_character_that_comes_in_two_chunks_is_read_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let event = "data: {\"text\": \"\u{fc}ber\"}\n\n".as_bytes();
        let (first, second) =
            event.split_at(event.iter().position(|byte| *byte == 0xc3).unwrap() + 1);
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            assert!(stream.read(&mut asked).await.unwrap() > 0);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                        transfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            for piece in [first, second] {
                let size = format!("{:x}\r\n", piece.len());
                let chunk = [size.as_bytes(), piece, b"\r\n"].concat();
                stream.write_all(&chunk).await.unwrap();
                stream.flush().await.unwrap();
            }
            stream.write_all(b"0\r\n\r\n").await.unwrap();
        };
        let reading = async {
            let mut reader = SseReader::of(reqwest::get(url).await.unwrap()).await;
            reader.next().await.unwrap().data
        };
        let (data, ()) = tokio::join!(reading, serving);
        assert_eq!(data["text"], "\u{fc}ber");
    }
}
