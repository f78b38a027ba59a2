//! [`Raw`]: a WebSocket client that sends and reads raw text frames.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest, protocol::CloseFrame},
};

/// Timeout of a test for an expected event. Long, because the value matters only when the test fails.
pub const SOON: Duration = Duration::from_secs(20);

/// A WebSocket client for raw frames.
#[derive(Debug)]
pub struct Raw {
    ws: WebSocketStream<TcpStream>,
}

impl Raw {
    /// Connects to a path.
    pub async fn connect(addr: SocketAddr, path: &str) -> Self {
        Self::connect_with(addr, path, &[])
            .await
            .expect("the hub takes the connection")
    }

    /// Connects to a path. Returns `None` if the hub is not reachable, or stops meanwhile.
    pub async fn try_connect(addr: SocketAddr, path: &str) -> Option<Self> {
        let tcp = TcpStream::connect(addr).await.ok()?;
        let url = format!("ws://{addr}{path}");
        let (ws, _) = tokio_tungstenite::client_async(url, tcp).await.ok()?;
        Some(Self { ws })
    }

    /// Connects with small kernel buffers, so that they are quickly full.
    pub async fn connect_narrow(addr: SocketAddr, path: &str) -> Self {
        const NARROW: u32 = 64 << 10;
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_send_buffer_size(NARROW).expect("a size");
        socket.set_recv_buffer_size(NARROW).expect("a size");
        let tcp = socket.connect(addr).await.expect("the hub listens");
        Self::shake_hands(tcp, addr, path, &[])
            .await
            .expect("the hub takes the connection")
    }

    /// Connects with further headers. Returns the HTTP status if the hub refuses.
    pub async fn connect_with(
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let tcp = TcpStream::connect(addr).await.expect("the hub listens");
        Self::shake_hands(tcp, addr, path, headers).await
    }

    async fn shake_hands(
        tcp: TcpStream,
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let mut request = format!("ws://{addr}{path}")
            .into_client_request()
            .expect("a URL");
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(*name, value.parse().expect("a header"));
        }
        match tokio_tungstenite::client_async(request, tcp).await {
            Ok((ws, _)) => Ok(Self { ws }),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("the handshake failed: {error}"),
        }
    }

    /// Sends text unchanged.
    pub async fn send_text(&mut self, text: impl Into<String>) {
        self.ws
            .send(Message::text(text.into()))
            .await
            .expect("the connection is open");
    }

    /// Sends text unchanged. Returns false if the connection is lost.
    pub async fn maybe_send_text(&mut self, text: &str) -> bool {
        self.ws.send(Message::text(text)).await.is_ok()
    }

    /// Sends JSON.
    pub async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    /// Sends a binary frame.
    pub async fn send_binary(&mut self, bytes: &[u8]) {
        self.ws
            .send(Message::binary(bytes.to_vec()))
            .await
            .expect("the connection is open");
    }

    /// Sends a single masked WebSocket frame unchanged: its first byte (0x80 for the last frame of a message,
    /// then 1 text, 2 binary, 0 continuation) and its payload.
    pub async fn send_raw(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        match payload.len() {
            short @ 0..=125 => bytes.push(0x80 | u8::try_from(short).expect("below 126")),
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
        self.ws.feed(Message::text(frame.to_string())).await.is_ok()
    }

    /// Queues text without flushing. Returns false if the connection is lost.
    pub async fn feed_text(&mut self, text: String) -> bool {
        self.ws.feed(Message::text(text)).await.is_ok()
    }

    /// Flushes queued frames. Returns false if the connection is lost.
    pub async fn flush(&mut self) -> bool {
        self.ws.flush().await.is_ok()
    }

    /// Waits for the next text frame.
    pub async fn text(&mut self) -> String {
        match self.next().await {
            Message::Text(text) => text.to_string(),
            other => panic!("expected a text frame, got {other:?}"),
        }
    }

    /// Waits for the next text frame, or returns `None` once the hub has closed or cut the connection.
    pub async fn maybe_text(&mut self) -> Option<String> {
        let next = tokio::time::timeout(SOON, self.wait_text()).await;
        next.expect("nothing came in time")
    }

    /// Same as [`maybe_text`](Self::maybe_text), without a timeout. Cancel-safe.
    pub async fn wait_text(&mut self) -> Option<String> {
        loop {
            match self.ws.next().await {
                Some(Ok(Message::Text(text))) => return Some(text.to_string()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Waits for a ping of the hub. The pong is sent with the next read or write.
    pub async fn pinged(&mut self) {
        let next = tokio::time::timeout(SOON, self.ws.next()).await;
        match next.expect("no ping came in time") {
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

    /// Asserts that the next frame is an `error` with these fields and a non-empty `message`, and returns the
    /// message.
    pub async fn expect_error(&mut self, mut fields: Value) -> String {
        let mut frame = self.frame().await;
        let sentence = frame["message"].take();
        fields["type"] = "error".into();
        fields["message"] = Value::Null;
        assert_eq!(frame, fields, "{sentence}");
        let sentence = sentence.as_str().unwrap_or_default().to_owned();
        assert!(!sentence.is_empty(), "{frame} has no sentence");
        sentence
    }

    /// Asserts that no frame arrives before the answer to a `ping` frame of the protocol. The hub keeps the
    /// order of frames.
    pub async fn expect_nothing(&mut self) {
        self.send(json!({"type": "ping"})).await;
        assert_eq!(self.frame().await, json!({"type": "pong"}));
    }

    /// Waits for the close frame of the hub, and returns its code and reason. Skips earlier text frames.
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
        let ended = async { while let Some(Ok(_)) = self.ws.next().await {} };
        tokio::time::timeout(SOON, ended)
            .await
            .expect("the connection did not end in time");
    }

    async fn next(&mut self) -> Message {
        loop {
            let next = tokio::time::timeout(SOON, self.ws.next())
                .await
                .expect("nothing came in time");
            match next
                .expect("the connection ended")
                .expect("the connection broke")
            {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    /// Registers as an Agora agent.
    pub async fn register(&mut self, id: &str) {
        self.send(json!({"type": "register", "id": id, "name": id}))
            .await;
        assert_eq!(self.frame().await, json!({"type": "registered", "id": id}));
    }

    /// Closes the connection with a close frame.
    pub async fn close(mut self) {
        // The hub may have closed first.
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
