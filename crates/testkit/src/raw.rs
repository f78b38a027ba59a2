//! A WebSocket client that sends and reads raw text frames.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest},
};

/// How long a test waits for something that must come. Long, since it only matters when the test fails.
pub const SOON: Duration = Duration::from_secs(20);

/// A WebSocket client.
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

    /// Connects with further headers; the HTTP status if the hub refuses.
    pub async fn connect_with(
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let tcp = TcpStream::connect(addr).await.expect("the hub listens");
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

    /// Sends text as it is.
    pub async fn send_text(&mut self, text: impl Into<String>) {
        self.ws
            .send(Message::text(text.into()))
            .await
            .expect("the connection is open");
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

    /// Queues JSON without flushing; false if the connection is gone.
    pub async fn feed(&mut self, frame: &Value) -> bool {
        self.ws.feed(Message::text(frame.to_string())).await.is_ok()
    }

    /// Flushes what was queued; false if the connection is gone.
    pub async fn flush(&mut self) -> bool {
        self.ws.flush().await.is_ok()
    }

    /// The next text frame as it is.
    pub async fn text(&mut self) -> String {
        match self.next().await {
            Message::Text(text) => text.to_string(),
            other => panic!("expected a text frame, got {other:?}"),
        }
    }

    /// The next frame as JSON.
    pub async fn frame(&mut self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?} is not JSON: {error}"))
    }

    /// Whether nothing more comes before the answer to a ping frame of the protocol, which keeps the order.
    pub async fn expect_nothing(&mut self) {
        self.send(json!({"type": "ping"})).await;
        assert_eq!(self.frame().await, json!({"type": "pong"}));
    }

    /// The code and reason with which the hub closes; text frames before it are skipped.
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

    /// Closes properly.
    pub async fn close(mut self) {
        // The hub may have been faster.
        self.ws.close(None).await.ok();
    }

    /// The socket below, to be rude with.
    pub fn tcp(&mut self) -> &mut TcpStream {
        self.ws.get_mut()
    }
}
