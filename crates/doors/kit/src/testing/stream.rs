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
    unread: String,
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
            unread: String::new(),
        }
    }

    /// The next event that has data; none at the end.
    pub async fn next(&mut self) -> Option<Sse> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let frame: String = self.unread.drain(..end + 2).collect();
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
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}
