//! [`Raw`]: a WebSocket client that sends and reads raw text frames, with the frames of Agora that many tests
//! need. The client itself is [`WsClient`].

use std::{
    net::SocketAddr,
    ops::{Deref, DerefMut},
};

use jackfield_kit::testing::WsClient;
use serde_json::{Value, json};

/// A WebSocket client for raw frames.
#[derive(Debug)]
pub struct Raw(WsClient);

impl Deref for Raw {
    type Target = WsClient;

    fn deref(&self) -> &WsClient {
        &self.0
    }
}

impl DerefMut for Raw {
    fn deref_mut(&mut self) -> &mut WsClient {
        &mut self.0
    }
}

impl Raw {
    /// Connects to a path.
    pub async fn connect(addr: SocketAddr, path: &str) -> Self {
        Self(WsClient::connect(addr, path).await)
    }

    /// Connects to a path. Returns `None` if the hub is not reachable, or stops meanwhile.
    pub async fn try_connect(addr: SocketAddr, path: &str) -> Option<Self> {
        WsClient::try_connect(addr, path).await.map(Self)
    }

    /// Connects with small kernel buffers, so that they are quickly full.
    pub async fn connect_narrow(addr: SocketAddr, path: &str) -> Self {
        Self(WsClient::connect_narrow(addr, path).await)
    }

    /// Connects with further headers. Returns the HTTP status if the hub refuses.
    pub async fn connect_with(
        addr: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let connected = WsClient::connect_with(addr, path, headers).await;
        connected.map(Self).map_err(|refused| refused.status)
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

    /// Registers as an Agora agent.
    pub async fn register(&mut self, id: &str) {
        self.send(json!({"type": "register", "id": id, "name": id}))
            .await;
        assert_eq!(self.frame().await, json!({"type": "registered", "id": id}));
    }

    /// Closes the connection with a close frame.
    pub async fn close(self) {
        self.0.close().await;
    }

    /// Closes the connection with a code and a reason.
    pub async fn close_with(self, code: u16, reason: &str) {
        self.0.close_with(code, reason).await;
    }
}
