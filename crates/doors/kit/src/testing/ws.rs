//! [`WsClient`]: a WebSocket client that sends and reads raw frames. It uses third-party code, so that bugs of
//! the kit's own WebSocket code stay visible.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message, client::IntoClientRequest as _, protocol::CloseFrame},
};

use super::{judged, soon};

/// A WebSocket client for raw frames. Dropping it cuts the connection.
#[derive(Debug)]
pub struct WsClient {
    ws: WebSocketStream<TcpStream>,
    /// Path of the connection.
    path: String,
}

/// The answer to a refused handshake.
#[derive(Debug)]
pub struct WsRefused {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl WsClient {
    /// Connects to a path.
    pub async fn connect(addr: SocketAddr, path: &str) -> Self {
        let connected = Self::connect_with(addr, path, &[]).await;
        connected.expect("the server takes the connection")
    }

    /// Connects to a path. Returns `None` if the server is not reachable, or stops meanwhile.
    pub async fn try_connect(addr: SocketAddr, path: &str) -> Option<Self> {
        let tcp = TcpStream::connect(addr).await.ok()?;
        let url = format!("ws://{addr}{path}");
        let (ws, _) = tokio_tungstenite::client_async(url, tcp).await.ok()?;
        let path = path.to_owned();
        Some(Self { ws, path })
    }

    /// Connects with small kernel buffers, so that they are quickly full.
    pub async fn connect_narrow(addr: SocketAddr, path: &str) -> Self {
        const NARROW: u32 = 64 << 10;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(NARROW).unwrap();
        socket.set_recv_buffer_size(NARROW).unwrap();
        let tcp = socket.connect(addr).await.expect("the server listens");
        let connected = Self::shake_hands(tcp, addr, path, &[]).await;
        connected.expect("the server takes the connection")
    }

    /// Connects with further headers.
    pub async fn connect_with(
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, WsRefused> {
        let tcp = TcpStream::connect(addr).await.expect("the server listens");
        // Under a paused clock the kernel would hold small frames back for longer than all timeouts.
        tcp.set_nodelay(true).unwrap();
        Self::shake_hands(tcp, addr, path, headers).await
    }

    async fn shake_hands(
        tcp: TcpStream,
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, WsRefused> {
        let url = format!("ws://{addr}{path}");
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let value = value.parse().unwrap();
            request.headers_mut().insert(*name, value);
        }
        match soon(tokio_tungstenite::client_async(request, tcp)).await {
            Ok((ws, _)) => Ok(Self {
                ws,
                path: path.to_owned(),
            }),
            Err(Error::Http(response)) => Err(WsRefused {
                status: response.status().as_u16(),
                body: String::from_utf8(response.into_body().unwrap_or_default()).unwrap(),
            }),
            Err(error) => panic!("the handshake failed: {error}"),
        }
    }

    /// Sends text unchanged.
    pub async fn send_text(&mut self, text: impl Into<String>) {
        let sent = self.ws.send(Message::text(text.into())).await;
        sent.expect("the connection is open");
    }

    /// Sends text unchanged. Returns false if the connection is lost.
    pub async fn maybe_send_text(&mut self, text: &str) -> bool {
        self.ws.send(Message::text(text)).await.is_ok()
    }

    /// Sends JSON.
    pub async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    /// Sends several frames of JSON with one flush.
    pub async fn send_all(&mut self, frames: impl IntoIterator<Item = Value>) {
        for frame in frames {
            assert!(self.feed(&frame).await, "the connection is open");
        }
        assert!(self.flush().await, "the connection is open");
    }

    /// Sends a binary frame.
    pub async fn send_binary(&mut self, bytes: &[u8]) {
        let sent = self.ws.send(Message::binary(bytes.to_vec())).await;
        sent.expect("the connection is open");
    }

    /// Sends a single masked WebSocket frame unchanged: its first byte (0x80 for the last frame of a message,
    /// then 1 text, 2 binary, 0 continuation) and its payload.
    pub async fn send_raw(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        match payload.len() {
            short @ 0..=125 => bytes.push(0x80 | u8::try_from(short).unwrap()),
            long => {
                bytes.push(0x80 | 127);
                bytes.extend((long as u64).to_be_bytes());
            }
        }
        // A mask of zeros leaves the payload unchanged.
        bytes.extend([0; 4]);
        bytes.extend(payload);
        self.write(&bytes).await.expect("the connection is open");
    }

    /// Writes bytes to the TCP stream below the WebSocket.
    pub async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.ws.get_mut().write_all(bytes).await
    }

    /// Queues JSON without flushing. Returns false if the connection is lost.
    pub async fn feed(&mut self, frame: &Value) -> bool {
        self.feed_text(frame.to_string()).await
    }

    /// Queues text without flushing. Returns false if the connection is lost.
    pub async fn feed_text(&mut self, text: String) -> bool {
        self.ws.feed(Message::text(text)).await.is_ok()
    }

    /// Flushes queued frames. Returns false if the connection is lost.
    pub async fn flush(&mut self) -> bool {
        self.ws.flush().await.is_ok()
    }

    /// Waits for the next message that is no ping or pong.
    pub async fn next(&mut self) -> Message {
        loop {
            let next = soon(self.ws.next()).await;
            match next.expect("the connection is open").expect("it is sound") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    /// Waits for the next text frame.
    pub async fn text(&mut self) -> String {
        match self.next().await {
            Message::Text(text) => self.judged(&text),
            other => panic!("expected a text frame, got {other:?}"),
        }
    }

    /// Waits for the next text frame, or returns `None` once the server has closed or cut the connection.
    pub async fn maybe_text(&mut self) -> Option<String> {
        soon(self.wait_text()).await
    }

    /// Same as [`maybe_text`](Self::maybe_text), without a timeout. Cancel-safe.
    pub async fn wait_text(&mut self) -> Option<String> {
        loop {
            match self.ws.next().await {
                Some(Ok(Message::Text(text))) => return Some(self.judged(&text)),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Judges a frame by the schemas of the hub, if there is one.
    fn judged(&self, text: &str) -> String {
        judged::frame(&self.path, text);
        text.to_owned()
    }

    /// Waits for a ping of the server. The pong is sent with the next read or write.
    pub async fn pinged(&mut self) {
        match soon(self.ws.next()).await {
            Some(Ok(Message::Ping(_))) => {}
            other => panic!("expected a ping, got {other:?}"),
        }
    }

    /// Waits for the next frame and parses it as JSON.
    pub async fn frame(&mut self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?} is not JSON: {error}"))
    }

    /// Asserts that the next frame equals `frame`.
    pub async fn expect(&mut self, frame: Value) {
        assert_eq!(self.frame().await, frame);
    }

    /// Waits for the close frame of the server, and returns its code and reason. Skips earlier text frames.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.next().await {
                Message::Close(Some(frame)) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Message::Close(None) => return (1005, String::new()),
                _ => {}
            }
        }
    }

    /// Waits for the end of the connection, by a close frame or not.
    pub async fn gone(&mut self) {
        soon(async { while let Some(Ok(_)) = self.ws.next().await {} }).await;
    }

    /// Waits until the server has written something.
    pub async fn is_written_to(&self) {
        soon(self.ws.get_ref().readable()).await.unwrap();
    }

    /// Closes the connection with a close frame.
    pub async fn close(mut self) {
        // The server may have closed first.
        self.ws.close(None).await.ok();
    }

    /// Closes the connection with a code and a reason.
    pub async fn close_with(mut self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
        self.ws.close(Some(frame)).await.ok();
    }

    /// Returns the TCP stream below, for tests of bad behaviour.
    pub fn tcp(&mut self) -> &mut TcpStream {
        self.ws.get_mut()
    }
}
