//! A bridge agent without extensions: it forgets its requests when the hub is killed.

use jackfield_testkit::{Raw, SOON, bridge_register};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::kill::hub::Hub;

/// An attached agent.
pub(crate) struct Agent {
    id: String,
    raw: Raw,
}

impl Agent {
    /// Connects and registers.
    pub(crate) async fn register(hub: &Hub, id: &str) -> Self {
        let mut raw = Raw::connect(hub.addr, &address(id)).await;
        raw.send(bridge_register(id)).await;
        raw.expect(json!({"type": "registered", "status": "ok"}))
            .await;
        let id = id.to_owned();
        Self { id, raw }
    }

    /// Returns the request id of the next frame, which must be a message.
    pub(crate) async fn message(&mut self) -> String {
        let frame = self.raw.frame().await;
        assert_eq!(frame["type"], "message", "{frame}");
        text(&frame, "request_id")
    }

    /// Checks that the next frame is this request.
    pub(crate) async fn expect(&mut self, request: &str) {
        let message = json!({
            "type": "message", "session_id": format!("s-{request}"), "request_id": request,
            "content": format!("question {request}"), "attachments": [],
        });
        self.raw.expect(message).await;
    }

    /// Sends a piece of the answer.
    pub(crate) async fn chunk(&mut self, request: &str, delta: &str) {
        self.raw.send(chunk(request, delta)).await;
    }

    /// Ends the answer.
    pub(crate) async fn done(&mut self, request: &str, result: &str) {
        self.raw.send(done(request, result)).await;
    }

    /// Waits until the hub is gone.
    pub(crate) async fn gone(&mut self) {
        self.raw.gone().await;
    }

    /// Disconnects, and waits until the hub has noticed.
    pub(crate) async fn leave(self, hub: &Hub) {
        let Self { id, raw } = self;
        raw.close().await;
        let (platform, path) = (hub.platform(), format!("/api/agents/{id}/status"));
        let noticed = async { while platform.get(&path).await["online"] == true {} };
        timeout(SOON, noticed).await.expect("it is seen to be away");
    }
}

/// The WebSocket path of an agent.
pub(crate) fn address(id: &str) -> String {
    format!("/ws?agent_id={id}")
}

/// A piece of an answer.
pub(crate) fn chunk(request: &str, delta: &str) -> Value {
    json!({"type": "chunk", "session_id": format!("s-{request}"), "request_id": request, "delta": delta})
}

/// The end of an answer.
pub(crate) fn done(request: &str, result: &str) -> Value {
    json!({"type": "done", "session_id": format!("s-{request}"), "request_id": request, "result": result})
}

/// A text field that must exist.
pub(crate) fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("no {field} in {value}"))
        .to_owned()
}
