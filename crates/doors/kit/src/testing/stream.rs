//! The client's end of a stream of server-sent events.

use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::soon;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Sse {
    /// Its name.
    pub event: Option<String>,
    /// Its id.
    pub id: Option<String>,
    /// Its data, which is JSON.
    pub data: Value,
}

/// Reads a stream. Dropping it hangs up.
#[derive(Debug)]
pub struct SseReader {
    /// What is read.
    pub response: Response,
    /// Bytes and not text: a chunk may end within a character.
    unread: Vec<u8>,
}

impl SseReader {
    /// Panics if there is no stream.
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

    /// The next event that has data; none at the end.
    pub async fn next(&mut self) -> Option<Sse> {
        loop {
            let blank = self.unread.windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = blank {
                let frame: Vec<_> = self.unread.drain(..end + 2).collect();
                let frame = String::from_utf8(frame).unwrap();
                let field = |name: &str| {
                    let mut lines = frame.lines();
                    lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
                };
                if let Some(data) = field("data: ") {
                    return Some(Sse {
                        event: field("event: "),
                        id: field("id: "),
                        data: serde_json::from_str(&data).unwrap(),
                    });
                }
                continue;
            }
            let bytes = soon(self.response.chunk()).await.unwrap()?;
            self.unread.extend_from_slice(&bytes);
        }
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
