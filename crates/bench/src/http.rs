//! The client side of HTTP/1.1 with keep-alive, reduced to the needs of the benchmark: it writes prepared bytes
//! and reads the answer by its length or its chunks. It checks the status; callers check the content.

use std::{net::SocketAddr, str};

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Read size, in bytes.
const READ: usize = 16 << 10;
/// Maximum size of the head of a response.
const MAX_HEAD: usize = 16 << 10;

/// A keep-alive connection to an HTTP server.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    tcp: TcpStream,
    unread: BytesMut,
    body: Body,
}

/// What remains of the body of the current response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Number of bytes left.
    Length(usize),
    /// Number of bytes left in the current chunk; zero before the head of a chunk.
    Chunked(usize),
    /// The body ends with the connection.
    UntilClose,
    /// The body is complete.
    Done,
}

impl HttpConnection {
    pub(crate) async fn open(addr: SocketAddr) -> Result<Self> {
        let tcp = TcpStream::connect(addr).await.context("cannot connect")?;
        tcp.set_nodelay(true)?;
        Ok(Self {
            tcp,
            unread: BytesMut::new(),
            body: Body::Done,
        })
    }

    /// Sends a request and returns the whole body of the answer in `answer`, whose old content is dropped.
    pub(crate) async fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<()> {
        self.request(request).await?;
        answer.clear();
        while self.piece(answer).await? {}
        Ok(())
    }

    /// Sends a request and reads the head of the answer. [`Self::piece`] reads its body.
    pub(crate) async fn request(&mut self, request: &[u8]) -> Result<()> {
        ensure!(
            self.body == Body::Done && self.unread.is_empty(),
            "the last answer was not read"
        );
        self.tcp.write_all(request).await.context("cannot write")?;
        let (end, head) = loop {
            if let Some(end) = position(&self.unread, b"\r\n\r\n") {
                break (end + 4, Head::parse(&self.unread[..end + 2])?);
            }
            ensure!(self.unread.len() < MAX_HEAD, "the head does not end");
            self.read().await?;
        };
        self.unread.advance(end);
        self.body = head.body;
        if head.status != 200 {
            let mut body = Vec::new();
            while self.piece(&mut body).await? {}
            bail!(
                "the server answers {}: {}",
                head.status,
                String::from_utf8_lossy(&body)
            );
        }
        Ok(())
    }

    /// Appends the next bytes of the body to `to`. Returns `false` at the end of the body.
    pub(crate) async fn piece(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        loop {
            match take_piece(&mut self.unread, &mut self.body, to)? {
                Piece::Taken => return Ok(true),
                Piece::End => return Ok(false),
                Piece::Missing => self.read().await?,
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        self.unread.reserve(READ);
        let read = self.tcp.read_buf(&mut self.unread).await?;
        ensure!(read > 0, "the server hung up");
        Ok(())
    }
}

/// Result of [`take_piece`].
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Taken,
    End,
    /// More bytes have to be read first.
    Missing,
}

/// Moves received bytes of the body from `unread` to `to`.
fn take_piece(unread: &mut BytesMut, body: &mut Body, to: &mut Vec<u8>) -> Result<Piece> {
    loop {
        match *body {
            Body::Done | Body::Length(0) => {
                *body = Body::Done;
                return Ok(Piece::End);
            }
            _ if unread.is_empty() => return Ok(Piece::Missing),
            Body::UntilClose => {
                to.extend_from_slice(unread);
                unread.clear();
                return Ok(Piece::Taken);
            }
            Body::Length(left) => {
                let taken = left.min(unread.len());
                to.extend_from_slice(&unread[..taken]);
                unread.advance(taken);
                *body = Body::Length(left - taken);
                return Ok(Piece::Taken);
            }
            Body::Chunked(0) => {
                let Some(end) = position(unread, b"\r\n") else {
                    return Ok(Piece::Missing);
                };
                let size = str::from_utf8(&unread[..end])?;
                let size = usize::from_str_radix(size.trim(), 16)
                    .with_context(|| format!("{size:?} is no size of a chunk"))?;
                if size == 0 {
                    // Servers of the benchmark send no trailers.
                    if unread.len() < end + 4 {
                        return Ok(Piece::Missing);
                    }
                    unread.advance(end + 4);
                    *body = Body::Done;
                } else {
                    unread.advance(end + 2);
                    // The line end after the chunk counts as part of it.
                    *body = Body::Chunked(size + 2);
                }
            }
            Body::Chunked(left) => {
                let content = left.saturating_sub(2).min(unread.len());
                to.extend_from_slice(&unread[..content]);
                let taken = left.min(unread.len());
                unread.advance(taken);
                *body = Body::Chunked(left - taken);
                if content > 0 {
                    return Ok(Piece::Taken);
                }
            }
        }
    }
}

/// The fields of a response's head that matter here.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    body: Body,
}

impl Head {
    fn parse(head: &[u8]) -> Result<Self> {
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let status = lines
            .next()
            .and_then(|line| str::from_utf8(line.get(9..12)?).ok()?.parse().ok())
            .context("the answer is not HTTP")?;
        let mut body = match status {
            204 => Body::Length(0),
            _ => Body::UntilClose,
        };
        for line in lines {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                continue;
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"content-length") {
                body = Body::Length(str::from_utf8(value)?.parse()?);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                body = Body::Chunked(0);
            }
        }
        Ok(Self { status, body })
    }
}

/// Returns where `part` begins in `bytes`.
pub(crate) fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Builds the bytes of a `GET` of server-sent events.
pub(crate) fn get_events(addr: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nAccept: text/event-stream\r\n\r\n").into_bytes()
}

/// Builds the bytes of a `POST` with a JSON body. `headers` are whole lines, each with its line end.
pub(crate) fn post(addr: SocketAddr, path: &str, headers: &str, json: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{json}",
        json.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a body byte by byte and returns what was read, and what was left over.
    fn read_slowly(mut body: Body, bytes: &[u8]) -> (String, String) {
        let (mut unread, mut read) = (BytesMut::new(), Vec::new());
        let mut bytes = bytes.iter();
        loop {
            match take_piece(&mut unread, &mut body, &mut read).unwrap() {
                Piece::Taken => {}
                Piece::Missing => unread.extend_from_slice(&[*bytes.next().unwrap()]),
                Piece::End => break,
            }
        }
        let left: Vec<u8> = bytes.copied().collect();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(read), text(left))
    }

    #[test]
    fn a_body_ends_after_its_length() {
        let (read, left) = read_slowly(Body::Length(5), b"helloHTTP");
        assert_eq!((read.as_str(), left.as_str()), ("hello", "HTTP"));
    }

    #[test]
    fn chunks_are_joined_however_they_arrive() {
        let bytes = b"5\r\nhello\r\nA\r\n\r\n, world\r\r\n0\r\n\r\nHTTP";
        let (read, left) = read_slowly(Body::Chunked(0), bytes);
        assert_eq!(read, "hello\r\n, world\r");
        assert_eq!(left, "HTTP");

        let (mut unread, mut read) = (BytesMut::from(&bytes[..]), Vec::new());
        let mut body = Body::Chunked(0);
        while take_piece(&mut unread, &mut body, &mut read).unwrap() == Piece::Taken {}
        assert_eq!(read, b"hello\r\n, world\r");
        assert_eq!(&unread[..], b"HTTP");
    }

    #[test]
    fn a_body_without_a_length_is_all_that_arrives() {
        let (mut unread, mut read) = (BytesMut::from("hello"), Vec::new());
        let mut body = Body::UntilClose;
        assert_eq!(
            take_piece(&mut unread, &mut body, &mut read).unwrap(),
            Piece::Taken
        );
        assert_eq!(
            take_piece(&mut unread, &mut body, &mut read).unwrap(),
            Piece::Missing
        );
        assert_eq!(read, b"hello");
    }

    #[test]
    fn the_head_says_how_long_the_body_is() {
        let parse = |head: &str| Head::parse(head.as_bytes()).unwrap();
        let known = parse("HTTP/1.1 200 OK\r\nDate: now\r\ncontent-LENGTH: 17\r\n");
        assert_eq!((known.status, known.body), (200, Body::Length(17)));
        let chunked = parse("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n");
        assert_eq!((chunked.status, chunked.body), (404, Body::Chunked(0)));
        assert_eq!(parse("HTTP/1.1 204 No Content\r\n").body, Body::Length(0));
        assert_eq!(parse("HTTP/1.1 200 OK\r\n").body, Body::UntilClose);
        assert!(Head::parse(b"NATS\r\n").is_err());
    }
}
