//! A client of server-sent events, reduced to the needs of the benchmark: one GET, and the events one by one.

use std::net::SocketAddr;

use anyhow::{Result, ensure};

use crate::http::{HttpConnection, get_events, position};

/// Maximum size of an event.
const MAX: usize = 64 << 10;

/// An open stream of events.
#[derive(Debug)]
pub(crate) struct SseReader {
    connection: HttpConnection,
    /// Bytes of the stream that are no whole event yet.
    text: Vec<u8>,
}

impl SseReader {
    /// Requests a stream. The server has accepted the request when the function returns.
    pub(crate) async fn open(addr: SocketAddr, path: &str) -> Result<Self> {
        let mut connection = HttpConnection::open(addr).await?;
        connection.request(&get_events(addr, path)).await?;
        Ok(Self {
            connection,
            text: Vec::new(),
        })
    }

    /// Waits for the next event or comment, and returns its lines.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = position(&self.text, b"\n\n") {
                let rest = self.text.split_off(end + 2);
                let mut event = std::mem::replace(&mut self.text, rest);
                event.truncate(end);
                return Ok(event);
            }
            ensure!(self.text.len() < MAX, "the event does not end");
            let is_open = self.connection.piece(&mut self.text).await?;
            ensure!(is_open, "the stream has ended");
        }
    }
}

/// Returns the value of the line `data:` of an event.
pub(crate) fn data_of(event: &[u8]) -> Option<&[u8]> {
    event
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"data: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_found_behind_the_other_lines() {
        let event = b"event: envelope\nid: run:7\ndata: {\"a\":1}";
        assert_eq!(data_of(event), Some(&b"{\"a\":1}"[..]));
        assert_eq!(data_of(b": keepalive"), None);
    }
}
