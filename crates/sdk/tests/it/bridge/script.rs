//! A scripted hub, controlled frame by frame, and an agent attached to it.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_sdk::{Agent, Backoff, Error, HubAddress};
use jackfield_testkit::SOON;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message as Frame,
        handshake::server::{ErrorResponse, Request, Response},
        protocol::CloseFrame,
    },
};

/// A scripted hub and its agent.
pub(crate) struct ScriptedHub {
    listener: TcpListener,
    agents: JoinSet<Result<(), Error>>,
}

impl ScriptedHub {
    pub(crate) async fn start(agent: Agent) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address =
            HubAddress::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let soon = Backoff::new(Duration::from_millis(1), Duration::from_millis(5));
        let agent = agent.hub(address.with_token("secret")).backoff(soon);
        let mut agents = JoinSet::new();
        agents.spawn(agent.run());
        Self { listener, agents }
    }

    /// Accepts the agent's next TCP connection.
    pub(crate) async fn tcp(&self) -> TcpStream {
        let accepted = timeout(SOON, self.listener.accept()).await;
        let (tcp, _) = accepted.expect("the agent connects in time").unwrap();
        tcp.set_nodelay(true).unwrap();
        tcp
    }

    /// Accepts the agent's next WebSocket.
    pub(crate) async fn accept(&self) -> Wire {
        let mut uri = String::new();
        #[allow(clippy::result_large_err, reason = "the library's signature")]
        let note = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            uri = request.uri().to_string();
            Ok(response)
        };
        let ws = accept_hdr_async(self.tcp().await, note).await.unwrap();
        Wire { ws, uri }
    }

    /// Accepts the agent's next WebSocket, and reads the first frame.
    pub(crate) async fn greet(&self) -> (Wire, Value) {
        let mut wire = self.accept().await;
        let register = wire.frame().await;
        assert_eq!(register["type"], "register", "{register}");
        (wire, register)
    }

    /// Accepts the agent's next WebSocket, and confirms it with all extensions; `resume` is the hub's resume
    /// state.
    pub(crate) async fn attach(&self, resume: Value) -> (Wire, Value) {
        let (mut wire, register) = self.greet().await;
        wire.send(json!({
            "type": "registered", "status": "ok",
            "extensions": ["resume", "artifacts", "input", "meta"],
            "resume": resume,
        }))
        .await;
        (wire, register)
    }

    /// Accepts a first, resumable connection.
    pub(crate) async fn first(&self) -> Wire {
        self.attach(json!({"token": "t-1", "grace_ms": 30000}))
            .await
            .0
    }

    /// Accepts a first connection as a hub without extensions.
    pub(crate) async fn plain(&self) -> Wire {
        let (mut wire, _) = self.greet().await;
        wire.send(json!({"type": "registered", "status": "ok"}))
            .await;
        wire
    }

    /// Waits for the agent to end, and returns the error.
    pub(crate) async fn ended(&mut self) -> Error {
        let ended = timeout(SOON, self.agents.join_next()).await;
        let ended = ended.expect("the agent ends in time").unwrap();
        ended.unwrap().unwrap_err()
    }
}

/// A connection of the agent. Dropping it cuts the connection.
pub(crate) struct Wire {
    ws: WebSocketStream<TcpStream>,
    /// URI of the agent's handshake.
    pub(crate) uri: String,
}

impl Wire {
    pub(crate) async fn send(&mut self, frame: Value) {
        self.ws.send(Frame::text(frame.to_string())).await.unwrap();
    }

    /// Reads the next frame; answers and skips pings.
    pub(crate) async fn frame(&mut self) -> Value {
        loop {
            let next = timeout(SOON, self.ws.next()).await;
            match next.expect("a frame comes in time").unwrap().unwrap() {
                Frame::Text(text) => return serde_json::from_str(&text).unwrap(),
                Frame::Ping(_) | Frame::Pong(_) => {}
                other => panic!("expected a text, got {other:?}"),
            }
        }
    }

    /// Reads the next frame and compares it.
    pub(crate) async fn expect(&mut self, frame: Value) {
        assert_eq!(self.frame().await, frame);
    }

    /// Sends a message in the session `s`, as a hub with `meta` does.
    pub(crate) async fn message(&mut self, request: &str, content: &str) {
        self.send(json!({
            "type": "message", "session_id": "s", "request_id": request, "content": content,
            "attachments": [], "meta": {"caller": "ann", "parts": [{"text": content}]},
        }))
        .await;
    }

    pub(crate) async fn ack(&mut self, request: &str, seq: u64) {
        self.send(json!({"type": "ack", "request_id": request, "seq": seq}))
            .await;
    }

    /// Checks that the agent sends no frame except its one-chunk answer to a new request.
    pub(crate) async fn quiet(&mut self) {
        self.message("quiet?", "quiet?").await;
        let frame = self.frame().await;
        assert_eq!(
            (&frame["request_id"], &frame["type"]),
            (&json!("quiet?"), &json!("chunk")),
            "{frame}"
        );
        assert_eq!(self.frame().await["type"], "done");
        self.ack("quiet?", 2).await;
    }

    pub(crate) async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.to_owned().into(),
        };
        self.ws.close(Some(frame)).await.unwrap();
        // Reads on, so the agent's own frames don't reset the connection before the agent has read the
        // close frame.
        while let Some(Ok(_)) = self.ws.next().await {}
    }
}
