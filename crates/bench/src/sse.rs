//! A client of server-sent events, reduced to the needs of the benchmark: one GET, and the events one by one.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Read size, in bytes: some events. Small, because there are many readers.
const READ: usize = 2 << 10;
/// Maximum size of the head of a response, of a chunk's head, and of an event.
const MAX: usize = 64 << 10;

/// An open stream of events.
#[derive(Debug)]
pub(crate) struct SseReader {
    tcp: TcpStream,
    /// Bytes of the connection.
    unread: BytesMut,
    framing: Framing,
    /// Bytes of the stream without the framing of HTTP.
    text: BytesMut,
}

/// Framing of the body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Ends with the connection.
    UntilClose,
    /// In chunks; so many bytes of the current chunk are missing, with the line end behind it.
    Chunks(usize),
}

impl SseReader {
    /// Requests a stream. The server has accepted the request when the function returns.
    pub(crate) async fn open(addr: SocketAddr, path: &str) -> Result<Self> {
        let tcp = TcpStream::connect(addr).await.context("cannot connect")?;
        tcp.set_nodelay(true)?;
        let mut reader = Self {
            tcp,
            unread: BytesMut::new(),
            framing: Framing::UntilClose,
            text: BytesMut::new(),
        };
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nAccept: text/event-stream\r\n\r\n");
        reader.tcp.write_all(request.as_bytes()).await?;
        loop {
            if let Some(end) = position(&reader.unread, b"\r\n\r\n") {
                let head = reader.unread.split_to(end + 4);
                let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
                ensure!(head.starts_with("http/1.1 200"), "no events: {head}");
                if head.contains("\r\ntransfer-encoding: chunked\r\n") {
                    reader.framing = Framing::Chunks(0);
                }
                return Ok(reader);
            }
            reader.read().await?;
        }
    }

    /// Waits for the next event or comment, and returns its lines.
    pub(crate) async fn next(&mut self) -> Result<Bytes> {
        loop {
            if let Some(end) = position(&self.text, b"\n\n") {
                let event = self.text.split_to(end).freeze();
                self.text.advance(2);
                return Ok(event);
            }
            ensure!(self.text.len() < MAX, "the event does not end");
            if self.unread.is_empty() {
                self.read().await?;
            }
            if !self.framing.strip(&mut self.unread, &mut self.text)? {
                self.read().await?;
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        ensure!(self.unread.len() < MAX, "the answer does not end");
        self.unread.reserve(READ);
        let read = self.tcp.read_buf(&mut self.unread).await?;
        ensure!(read > 0, "the server hung up");
        Ok(())
    }
}

impl Framing {
    /// Moves what can be moved from `unread` to `text`. Returns `false` if the head of a chunk is incomplete.
    fn strip(&mut self, unread: &mut BytesMut, text: &mut BytesMut) -> Result<bool> {
        let Self::Chunks(missing) = self else {
            text.extend_from_slice(unread);
            unread.clear();
            return Ok(true);
        };
        while !unread.is_empty() {
            if *missing == 0 {
                let Some(end) = position(unread, b"\r\n") else {
                    return Ok(false);
                };
                let line = unread.split_to(end + 2);
                let size = std::str::from_utf8(&line[..end])?;
                match usize::from_str_radix(size, 16).context("the head of a chunk")? {
                    0 => bail!("the stream has ended"),
                    size => *missing = size + 2,
                }
            }
            let here = unread.len().min(*missing);
            text.extend_from_slice(&unread[..here.min(missing.saturating_sub(2))]);
            unread.advance(here);
            *missing -= here;
        }
        Ok(true)
    }
}

/// Returns the value of the line `data:` of an event.
pub(crate) fn data_of(event: &[u8]) -> Option<&[u8]> {
    event
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"data: "))
}

/// Returns the first position of `part`.
pub(crate) fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_wherever_the_network_cuts_them() {
        let sent = b"5\r\ndata:\r\na\r\n one\n\ndata\r\n3\r\n: \n\r\n";
        for size in 1..sent.len() {
            let (mut framing, mut unread) = (Framing::Chunks(0), BytesMut::new());
            let mut text = BytesMut::new();
            for part in sent.chunks(size) {
                unread.extend_from_slice(part);
                framing.strip(&mut unread, &mut text).unwrap();
            }
            assert_eq!(&text[..], b"data: one\n\ndata: \n", "cut every {size}");
            assert_eq!(framing, Framing::Chunks(0));
        }
    }

    #[test]
    fn the_last_chunk_is_no_event() {
        let (mut unread, mut text) = (BytesMut::from("0\r\n\r\n"), BytesMut::new());
        let ended = Framing::Chunks(0).strip(&mut unread, &mut text);
        assert_eq!(ended.unwrap_err().to_string(), "the stream has ended");
    }

    #[test]
    fn data_is_found_behind_the_other_lines() {
        let event = b"event: envelope\nid: run:7\ndata: {\"a\":1}";
        assert_eq!(data_of(event), Some(&b"{\"a\":1}"[..]));
        assert_eq!(data_of(b": keepalive"), None);
    }
}
