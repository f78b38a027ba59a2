//! A peer that writes the bytes of its streams itself, beyond what any library allows. Only the handshake uses a
//! library. The peer serves no protocol, reads only when a test waits, and never enlarges the hub's initial write
//! window.

use std::collections::HashMap;

use jackfield_testkit::{SOON, TestHub};
use libp2p::{
    core::upgrade::OutboundConnectionUpgrade,
    futures::{AsyncReadExt, AsyncWriteExt},
    identity::Keypair,
    noise,
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

pub(crate) const HANDOFF: &str = "/ai-agent/handoff/1.0.0";

/// First line of both sides in a protocol negotiation.
const AGREE: &str = "/multistream/1.0.0";

// Yamux frames: version 0, kind, flags, stream id and length.
const DATA: u8 = 0;
const WINDOW: u8 = 1;
const PING: u8 = 2;
const GOODBYE: u8 = 3;
const SYN: u16 = 1;
const ACK: u16 = 2;
const FIN: u16 = 4;
const RST: u16 = 8;
/// The initial write window of a stream.
const ROOM: usize = 256 << 10;
/// Fits into a frame of every implementation.
const FRAME: usize = 16 << 10;

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Closed cleanly.
    Closed,
    Reset,
}

/// The hub's side of a stream.
#[derive(Debug, Default)]
struct StreamState {
    received: Vec<u8>,
    /// Our remaining write window.
    room: usize,
    ended: Option<Ended>,
}

/// A connection of a raw peer.
pub(crate) struct RawPeer {
    io: noise::Output<Compat<TcpStream>>,
    lines: HashMap<u32, StreamState>,
    last: u32,
    /// Bytes for the next flush.
    unsent: Vec<u8>,
    /// Whether the hub sent a go-away, and accepts no more streams.
    has_goodbye: bool,
}

impl RawPeer {
    /// Connects with a new key.
    pub(crate) async fn stranger(hub: &TestHub) -> Self {
        Self::connect(hub, &Keypair::generate_ed25519()).await
    }

    /// Connects with this key.
    pub(crate) async fn connect(hub: &TestHub, key: &Keypair) -> Self {
        let address = crate::p2p::tcp(hub);
        let port = address.split('/').nth(4).expect("a port");
        let tcp = TcpStream::connect(format!("127.0.0.1:{port}")).await;
        let mut tcp = tcp.expect("the hub listens").compat();
        agree(&mut tcp, "/noise").await;
        let noise = noise::Config::new(key).expect("a key");
        let (peer, mut io) = noise.upgrade_outbound(tcp, "/noise").await.expect("a hub");
        assert!(address.ends_with(&peer.to_string()), "{peer}");
        agree(&mut io, "/yamux/1.0.0").await;
        Self {
            io,
            lines: HashMap::new(),
            last: 0,
            unsent: Vec::new(),
            has_goodbye: false,
        }
    }

    /// Opens a stream and writes to it. All bytes are sent with the next flush, before the hub confirms the protocol.
    pub(crate) fn open(&mut self, protocol: &str, words: &[u8]) -> u32 {
        let id = self.last * 2 + 1;
        self.last += 1;
        let line = StreamState {
            room: ROOM,
            ..StreamState::default()
        };
        self.lines.insert(id, line);
        self.frame(WINDOW, SYN, id, 0);
        let mut bytes = Vec::new();
        for line in [AGREE, protocol] {
            push_line(&mut bytes, line);
        }
        bytes.extend(words);
        self.push(id, &bytes);
        id
    }

    /// Opens a stream, writes a whole request, and closes our side.
    pub(crate) fn ask(&mut self, protocol: &str, request: &impl ToString) -> u32 {
        let id = self.open(protocol, request.to_string().as_bytes());
        self.finish(id);
        id
    }

    /// Closes our side of a stream.
    pub(crate) fn finish(&mut self, id: u32) {
        self.frame(DATA, FIN, id, 0);
    }

    /// Writes as many bytes as the window allows, and returns their number.
    pub(crate) fn push(&mut self, id: u32, bytes: &[u8]) -> usize {
        let line = self.lines.get_mut(&id).expect("it is open");
        let fits = bytes.len().min(line.room);
        line.room -= fits;
        for piece in bytes[..fits].chunks(FRAME) {
            self.frame(DATA, 0, id, piece.len());
            self.unsent.extend(piece);
        }
        fits
    }

    /// Writes all bytes, waiting for the window.
    pub(crate) async fn say(&mut self, id: u32, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let pushed = self.push(id, bytes);
            bytes = &bytes[pushed..];
            assert!(self.flush().await, "the connection lives");
            if pushed == 0 {
                assert!(self.read_frame().await, "the connection lives");
            }
        }
    }

    /// Repeats the bytes until the hub ends the stream, beyond any window. Returns the number of bytes.
    pub(crate) async fn flood(&mut self, id: u32, bytes: &[u8]) -> usize {
        let mut received = 0;
        while self.lines[&id].ended.is_none() {
            let pushed = self.push(id, bytes);
            received += pushed;
            assert!(self.flush().await, "the connection lives");
            if pushed < bytes.len() {
                assert!(self.read_frame().await, "the connection lives");
            }
        }
        received + self.push(id, bytes)
    }

    /// Sends unsent bytes; false if the connection is closed.
    pub(crate) async fn flush(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.unsent);
        self.io.write_all(&bytes).await.is_ok() && self.io.flush().await.is_ok()
    }

    /// Returns the answer on a stream, which must close cleanly.
    pub(crate) async fn answer(&mut self, id: u32) -> String {
        self.bytes_until(id, Ended::Closed).await
    }

    /// Returns the bytes of a stream that must end in this way.
    async fn bytes_until(&mut self, id: u32, end: Ended) -> String {
        self.flush().await;
        while self.lines[&id].ended.is_none() {
            assert!(self.read_frame().await, "the connection lives");
        }
        let line = &self.lines[&id];
        let body = after_agreement(&line.received);
        assert_eq!(line.ended, Some(end), "{body}");
        body
    }

    /// Returns code and message of the error on a stream that is then reset.
    pub(crate) async fn error_and_reset(&mut self, id: u32) -> (u64, String) {
        error(&self.bytes_until(id, Ended::Reset).await)
    }

    /// Returns code and message of the error on a stream.
    pub(crate) async fn error(&mut self, id: u32) -> (u64, String) {
        error(&self.answer(id).await)
    }

    /// Waits for the hub's go-away.
    pub(crate) async fn dismissed(&mut self) {
        self.flush().await;
        while !self.has_goodbye {
            assert!(self.read_frame().await, "the connection lives");
        }
    }

    /// Reads a frame; false if the connection is closed.
    async fn read_frame(&mut self) -> bool {
        let mut header = [0; 12];
        let read = tokio::time::timeout(SOON, self.io.read_exact(&mut header)).await;
        if read.expect("the hub says something in time").is_err() {
            return false;
        }
        let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four"));
        let (kind, flags) = (header[1], u16::from_be_bytes([header[2], header[3]]));
        let (id, length) = (number(4), number(8));
        let line = self.lines.get_mut(&id);
        match kind {
            DATA => {
                let mut body = vec![0; length as usize];
                if self.io.read_exact(&mut body).await.is_err() {
                    return false;
                }
                if let Some(line) = line {
                    line.received.extend(body);
                }
            }
            WINDOW => {
                if let Some(line) = line {
                    line.room += length as usize;
                }
            }
            PING if flags & SYN != 0 => {
                self.frame(PING, ACK, 0, length as usize);
                return self.flush().await;
            }
            GOODBYE => self.has_goodbye = true,
            _ => {}
        }
        if let Some(line) = self.lines.get_mut(&id) {
            if flags & RST != 0 {
                line.ended = Some(Ended::Reset);
            } else if flags & FIN != 0 {
                line.ended = Some(Ended::Closed);
            }
        }
        true
    }

    fn frame(&mut self, kind: u8, flags: u16, id: u32, length: usize) {
        self.unsent.extend([0, kind]);
        self.unsent.extend(flags.to_be_bytes());
        self.unsent.extend(id.to_be_bytes());
        let length = u32::try_from(length).expect("a frame is short");
        self.unsent.extend(length.to_be_bytes());
    }
}

/// Code and message of an error without further fields.
pub(crate) fn error(body: &str) -> (u64, String) {
    let error: Value = serde_json::from_str(body).unwrap_or_else(|why| panic!("{body:?}: {why}"));
    assert_eq!(error.as_object().expect("an object").len(), 2, "{body}");
    let words = error["error"].as_str().expect("words");
    assert!(!words.is_empty(), "{body}");
    (error["code"].as_u64().expect("a code"), words.to_owned())
}

/// Appends a negotiation line: length, text, line break.
fn push_line(out: &mut Vec<u8>, line: &str) {
    out.push(u8::try_from(line.len() + 1).expect("a short line"));
    out.extend(line.as_bytes());
    out.push(b'\n');
}

/// Negotiates the next layer of a connection.
async fn agree(io: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin), protocol: &str) {
    let mut lines = Vec::new();
    push_line(&mut lines, AGREE);
    push_line(&mut lines, protocol);
    io.write_all(&lines).await.expect("the hub listens");
    io.flush().await.expect("the hub listens");
    let mut received = vec![0; lines.len()];
    io.read_exact(&mut received).await.expect("the hub agrees");
    assert_eq!(received, lines);
}

/// The bytes after the negotiation.
fn after_agreement(mut received: &[u8]) -> String {
    for _ in 0..2 {
        let length = received
            .first()
            .map_or(0, |length| usize::from(*length) + 1);
        received = received.get(length..).unwrap_or_default();
    }
    String::from_utf8(received.to_vec()).expect("text")
}
