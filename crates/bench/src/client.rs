//! The client side of a connection, reduced to the needs of the benchmark: handshake, registration, writing
//! prepared bytes, and checking that messages arrive complete, in order and only once. Supports Agora, and
//! enough of NATS for a comparison.

use std::{
    net::SocketAddr,
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, BytesMut};
use jackfield_agora::wire::{
    AgoraDownlink, DeliveryKind, Opening, RegisterFrame, parse_downlink, uplink,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    frame::{Batch, Template, client_pong, client_text, number_of, server_frame},
    stream::Stream,
};

/// Read size of a receiver, in bytes.
const READ: usize = 64 << 10;
/// Read size of an idle connection, in bytes; small, because there are many.
const READ_LITTLE: usize = 512;
/// Maximum size of the head of a handshake response.
const MAX_HEAD: usize = 8 << 10;

/// Protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Dialect {
    /// Agora, over WebSocket.
    Agora,
    /// The text protocol of NATS.
    Nats,
}

/// A server to load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) addr: SocketAddr,
    pub(crate) dialect: Dialect,
}

/// A client connection.
#[derive(Debug)]
pub(crate) struct Connection {
    dialect: Dialect,
    pub(crate) stream: Stream,
    unread: BytesMut,
    /// Number of answered WebSocket pings.
    pub(crate) pings: u64,
}

/// Received data other than the expected message.
enum Other {
    /// A frame that was handled.
    Done,
    /// A message with this number, in different bytes than expected.
    Numbered(u64),
    /// An incomplete frame.
    Partial,
}

impl Connection {
    /// Connects and registers. The hub knows the agent when the function returns.
    pub(crate) async fn open(target: Target, id: &str) -> Result<Self> {
        match target.dialect {
            Dialect::Agora => {
                let mut connection = Self::open_path(target.addr, "/ws").await?;
                connection.register(id).await?;
                Ok(connection)
            }
            Dialect::Nats => {
                let mut connection = Self::connect(target).await?;
                connection.open_nats(id).await?;
                Ok(connection)
            }
        }
    }

    async fn connect(target: Target) -> Result<Self> {
        let tcp = TcpStream::connect(target.addr)
            .await
            .context("cannot connect")?;
        tcp.set_nodelay(true)?;
        Ok(Self::over(Stream::Plain(tcp), target.dialect))
    }

    /// Uses a stream that is connected already.
    pub(crate) fn over(stream: Stream, dialect: Dialect) -> Self {
        Self {
            dialect,
            stream,
            unread: BytesMut::new(),
            pings: 0,
        }
    }

    /// Opens a WebSocket at this path without sending a frame.
    pub(crate) async fn open_path(addr: SocketAddr, path: &str) -> Result<Self> {
        let dialect = Dialect::Agora;
        let mut connection = Self::connect(Target { addr, dialect }).await?;
        connection.upgrade(addr, path).await?;
        Ok(connection)
    }

    /// Turns a new connection into a WebSocket.
    pub(crate) async fn upgrade(&mut self, addr: SocketAddr, path: &str) -> Result<()> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        self.write(request.as_bytes()).await?;
        let head = self.read_until(b"\r\n\r\n").await?;
        ensure!(
            head.starts_with("HTTP/1.1 101"),
            "the server refuses: {head}"
        );
        Ok(())
    }

    /// Posts JSON over a new connection; fails unless the server accepts it.
    pub(crate) async fn post(addr: SocketAddr, path: &str, json: &str) -> Result<()> {
        let dialect = Dialect::Agora;
        let mut connection = Self::connect(Target { addr, dialect }).await?;
        let length = json.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{json}"
        );
        connection.write(request.as_bytes()).await?;
        let head = connection.read_until(b"\r\n\r\n").await?;
        ensure!(
            head.starts_with("HTTP/1.1 20"),
            "the server refuses {json}: {head}"
        );
        Ok(())
    }

    /// Registers an agent on a new WebSocket.
    pub(crate) async fn register(&mut self, id: &str) -> Result<()> {
        let register = uplink::register(&RegisterFrame {
            id: id.into(),
            ..RegisterFrame::default()
        });
        self.send_text(&register).await?;
        match parse_downlink(&self.text().await?)? {
            AgoraDownlink::Registered(_) => Ok(()),
            other => bail!("{id} was not registered: {other:?}"),
        }
    }

    async fn open_nats(&mut self, id: &str) -> Result<()> {
        let hello = format!("CONNECT {{\"verbose\":false}}\r\nSUB {id} 1\r\nPING\r\n");
        self.write(hello.as_bytes()).await?;
        self.read_until(b"PONG\r\n").await?;
        Ok(())
    }

    /// Sends a text frame.
    pub(crate) async fn send_text(&mut self, text: &str) -> Result<()> {
        self.write(&client_text(text)).await
    }

    /// Writes prepared bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = async {
            self.stream.write_all(bytes).await?;
            // With TLS, encrypted bytes may wait for a flush.
            self.stream.flush().await
        };
        written.await.context("cannot write")
    }

    /// Waits for the next text frame; answers pings meanwhile.
    pub(crate) async fn text(&mut self) -> Result<String> {
        loop {
            if let Some((opcode, start, end)) = server_frame(&self.unread) {
                if opcode == 1 {
                    let text = String::from_utf8(self.unread[start..end].to_vec())?;
                    self.unread.advance(end);
                    return Ok(text);
                }
                self.control(opcode, start, end).await?;
            } else {
                self.read(READ_LITTLE).await?;
            }
        }
    }

    /// Passes each text frame to `take` until `take` breaks.
    pub(crate) async fn texts(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        loop {
            match server_frame(&self.unread) {
                None => self.read(READ).await?,
                Some((1, start, end)) => {
                    let taken = take(&self.unread[start..end])?;
                    self.unread.advance(end);
                    if taken.is_break() {
                        return Ok(());
                    }
                }
                Some((opcode, start, end)) => self.control(opcode, start, end).await?,
            }
        }
    }

    /// Waits for a text frame, and passes it and all others that have arrived to `take`.
    pub(crate) async fn arrived_texts(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut is_waiting = true;
        loop {
            match server_frame(&self.unread) {
                None if !is_waiting => return Ok(()),
                None => self.read(READ).await?,
                Some((1, start, end)) => {
                    take(&self.unread[start..end])?;
                    self.unread.advance(end);
                    is_waiting = false;
                }
                Some((opcode, start, end)) => self.control(opcode, start, end).await?,
            }
        }
    }

    /// Answers and counts pings forever.
    pub(crate) async fn idle(mut self, pings: &AtomicU64) -> Result<()> {
        // Free the buffer while no data arrives.
        self.unread = BytesMut::new();
        loop {
            self.stream.readable().await?;
            let before = self.pings;
            self.read(READ_LITTLE).await?;
            while let Some((opcode, start, end)) = server_frame(&self.unread) {
                self.control(opcode, start, end).await?;
            }
            if self.unread.is_empty() {
                self.unread = BytesMut::new();
            }
            pings.fetch_add(self.pings - before, Ordering::Relaxed);
        }
    }

    /// Receives messages until `*next` equals `until`, where `next` is the number of the next message and
    /// numbers start at the first message ever.
    pub(crate) async fn receive(
        &mut self,
        expected: &mut Template,
        next: &mut u64,
        until: u64,
    ) -> Result<()> {
        while *next < until {
            expected.stamp(*next);
            let wanted = expected.bytes();
            if self.unread.starts_with(wanted) {
                self.unread.advance(wanted.len());
                *next += 1;
            } else if wanted.starts_with(&self.unread) {
                self.read(READ).await?;
            } else {
                match self.other().await? {
                    Other::Done => {}
                    Other::Numbered(number) => {
                        ensure!(
                            number == *next,
                            "message {number} came instead of {next}: lost or out of order"
                        );
                        *next += 1;
                    }
                    Other::Partial => self.read(READ).await?,
                }
            }
        }
        Ok(())
    }

    /// Fails if the server has sent an error so far.
    pub(crate) async fn check_errors(&mut self) -> Result<()> {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = self.stream.try_read(&mut bytes) {
            self.unread.extend_from_slice(&bytes[..read]);
        }
        while !self.unread.is_empty() {
            if let Other::Partial = self.other().await? {
                break;
            }
        }
        Ok(())
    }

    async fn other(&mut self) -> Result<Other> {
        match self.dialect {
            Dialect::Agora => self.other_frame().await,
            Dialect::Nats => self.other_line().await,
        }
    }

    async fn other_frame(&mut self) -> Result<Other> {
        let Some((opcode, start, end)) = server_frame(&self.unread) else {
            return Ok(Other::Partial);
        };
        if opcode != 1 {
            self.control(opcode, start, end).await?;
            return Ok(Other::Done);
        }
        let frame = self.unread.split_to(end);
        let text = std::str::from_utf8(&frame[start..])?;
        match parse_downlink(text)? {
            AgoraDownlink::Delivery(delivery) if delivery.kind == DeliveryKind::MessageChunk => {
                delivery
                    .chunk
                    .as_deref()
                    .and_then(number_of)
                    .map(Other::Numbered)
                    .with_context(|| format!("a chunk without a number: {text}"))
            }
            // The opening of the stream.
            AgoraDownlink::Delivery(_) => Ok(Other::Done),
            _ => bail!("the server says {text}"),
        }
    }

    async fn other_line(&mut self) -> Result<Other> {
        let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') else {
            return Ok(Other::Partial);
        };
        let line = self.unread.split_to(end + 1);
        match line.trim_ascii() {
            b"PING" => self.write(b"PONG\r\n").await?,
            b"PONG" | b"+OK" => {}
            line if line.starts_with(b"INFO") => {}
            line => bail!(
                "lost or out of order; the server says {:?}",
                String::from_utf8_lossy(line)
            ),
        }
        Ok(Other::Done)
    }

    /// Handles a frame other than a text message.
    async fn control(&mut self, opcode: u8, start: usize, end: usize) -> Result<()> {
        let frame = self.unread.split_to(end);
        match opcode {
            9 => {
                self.pings += 1;
                self.write(&client_pong(&frame[start..])).await
            }
            10 => Ok(()),
            8 => {
                let reason = frame.get(start + 2..).unwrap_or_default();
                bail!("the server closes: {:?}", String::from_utf8_lossy(reason))
            }
            _ => bail!(
                "the server says {:?}",
                String::from_utf8_lossy(&frame[start..])
            ),
        }
    }

    async fn read(&mut self, size: usize) -> Result<()> {
        self.unread.reserve(size);
        let read = self.stream.read_buf(&mut self.unread).await?;
        ensure!(read > 0, "the server hung up");
        Ok(())
    }

    async fn read_until(&mut self, end: &[u8]) -> Result<String> {
        loop {
            let found = self.unread.windows(end.len()).position(|part| part == end);
            if let Some(at) = found {
                let head = self.unread.split_to(at + end.len());
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            ensure!(self.unread.len() < MAX_HEAD, "the answer does not end");
            self.read(READ_LITTLE).await?;
        }
    }
}

/// A sender, a receiver and the stream between them.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) sender: Outflow,
    pub(crate) receiver: Inflow,
}

/// The sending half of a pair.
#[derive(Debug)]
pub(crate) struct Outflow {
    pub(crate) line: Connection,
    pub(crate) batch: Batch,
    pub(crate) next: u64,
}

/// The receiving half of a pair.
#[derive(Debug)]
pub(crate) struct Inflow {
    pub(crate) line: Connection,
    pub(crate) expected: Template,
    pub(crate) next: u64,
}

impl Pair {
    /// Returns the ids of sender and receiver.
    pub(crate) fn ids(number: usize) -> (String, String) {
        (format!("s-{number:05}"), format!("r-{number:05}"))
    }

    /// Connects both and opens the stream; up to `per_write` messages are sent per write.
    pub(crate) async fn open(target: Target, number: usize, per_write: usize) -> Result<Self> {
        let (from, to) = Self::ids(number);
        let receiver = Connection::open(target, &to).await?;
        let sender = Connection::open(target, &from).await?;
        Self::between(sender, receiver, number, per_write).await
    }

    /// Opens the stream between two agents registered with the ids of this pair.
    pub(crate) async fn between(
        mut sender: Connection,
        receiver: Connection,
        number: usize,
        per_write: usize,
    ) -> Result<Self> {
        let (from, to) = Self::ids(number);
        let stream_id = format!("stream-{number:05}");
        let (out, expected) = match sender.dialect {
            Dialect::Agora => {
                let opening = Opening {
                    stream_id: Some(&stream_id),
                    stream: true,
                    ..Opening::default()
                };
                sender.send_text(&uplink::send(&to, &opening)).await?;
                (
                    Template::send_chunk(&to, &stream_id),
                    Template::message_chunk(&from, &to, &stream_id),
                )
            }
            Dialect::Nats => (
                Template::publication(&to, &stream_id),
                Template::delivery(&to, &stream_id),
            ),
        };
        Ok(Self {
            sender: Outflow {
                line: sender,
                batch: Batch::new(&out, per_write),
                next: 0,
            },
            receiver: Inflow {
                line: receiver,
                expected,
                next: 0,
            },
        })
    }
}
