//! Promises of a sidecar, between nodes on loopback sockets. The test acts as the agent and the registry. Requests and
//! answers are raw JSON. This file has the helpers.

mod listed;
mod relayed;
mod served;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
    routing::any,
};
use http::{Method, StatusCode, Uri, header};
use jackfield_kit::{outbound::OutboundRules, testing::soon};
use jackfield_peer::{
    StreamProtocol, exchange,
    futures::{AsyncReadExt as _, channel::mpsc as pipe},
    limits::MAX_ANSWER,
    serve::DEADLINE,
    streams::Stream,
    wire::{PROTOCOL_CARD, PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};

use super::*;

const LISTEN: &str = "/ip4/127.0.0.1/tcp/0";

/// With spaces and an unknown field, since cards are passed on byte for byte.
const CARD: &str = r#"{ "name": "Shop", "version": "2", "description": "Sells things.", "mood": "good",
    "skills": [
        {"id": "buy", "name": "Buy", "description": "Buys.", "path": "/items/{item}/buy", "method": "POST"},
        {"id": "list", "name": "List", "description": "Lists.", "path": "/items", "method": "GET"},
        {"id": "move", "name": "Move", "description": "Moves.", "path": "/move", "method": "GET"},
        {"id": "tell", "name": "Tell", "description": "Tells.", "path": "/tell/{kind}", "method": "POST"}
    ] }"#;

/// A request to the agent: method, path and body.
type ReceivedRequest = (String, String, String);

/// A piece of a body, or an abort of the body.
type BodyPiece = Result<Bytes, std::io::Error>;

/// An agent behind HTTP.
struct Agent {
    url: String,
    got: mpsc::Receiver<ReceivedRequest>,
    card: Arc<parking_lot::Mutex<String>>,
    /// Pieces of the response of `/tell`, until dropped.
    pieces: pipe::Sender<BodyPiece>,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Script {
    card: Arc<parking_lot::Mutex<String>>,
    got: mpsc::Sender<ReceivedRequest>,
    piece_receiver: Arc<parking_lot::Mutex<Option<pipe::Receiver<BodyPiece>>>>,
}

async fn respond(State(script): State<Script>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    if path == "/base/card" {
        return script.card.lock().clone().into_response();
    }
    let body = String::from_utf8(body.to_vec()).unwrap();
    let got = (method.to_string(), uri.to_string(), body);
    script.got.send(got).await.unwrap();
    match path {
        "/base/move" => (StatusCode::FOUND, [(header::LOCATION, "/base/items")]).into_response(),
        "/base/tell/trouble" => {
            let piece_receiver = axum::Json(json!({"error": "the moon is in the way"}));
            (StatusCode::INTERNAL_SERVER_ERROR, piece_receiver).into_response()
        }
        "/base/tell/never" => std::future::pending().await,
        "/base/tell/page" => (StatusCode::NOT_FOUND, "no\n such ".repeat(200)).into_response(),
        "/base/tell/lines" => streamed(&script, "application/x-ndjson"),
        "/base/tell/json" => streamed(&script, "application/json"),
        _ => "{\"ok\": true}".into_response(),
    }
}

fn streamed(script: &Script, kind: &'static str) -> Response {
    let piece_receiver = script.piece_receiver.lock().take().expect("told once");
    (
        [(header::CONTENT_TYPE, kind)],
        Body::from_stream(piece_receiver),
    )
        .into_response()
}

impl Agent {
    async fn start() -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn at(listener: TcpListener) -> Self {
        let url = format!("http://{}/base/", listener.local_addr().unwrap());
        let (to, got) = mpsc::channel(16);
        let (pieces, piece_receiver) = pipe::channel(16);
        let card = Arc::new(parking_lot::Mutex::new(CARD.to_owned()));
        let script = Script {
            card: card.clone(),
            got: to,
            piece_receiver: Arc::new(parking_lot::Mutex::new(Some(piece_receiver))),
        };
        let app = Router::new().fallback(any(respond)).with_state(script);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url,
            got,
            card,
            pieces,
            _server: server,
        }
    }
}

fn setting(agent_url: &str) -> SidecarConfig {
    SidecarConfig {
        tasks: Tasks::new(),
        key: Keypair::generate_ed25519(),
        node: NodeConfig {
            listen: vec![LISTEN.parse().unwrap()],
            ..NodeConfig::default()
        },
        outbound: Outbound::new(&OutboundRules::default()).unwrap(),
        agent_url: agent_url.to_owned(),
        name: None,
        allowed: Allowed::Everyone,
        relays: Vec::new(),
        deadline: DEADLINE,
        registry: None,
        hub: None,
    }
}

async fn until(sidecar: &Sidecar, condition: impl FnMut(&SidecarStatus) -> bool) -> SidecarStatus {
    let mut status = sidecar.status();
    soon(status.wait_for(condition)).await.unwrap().clone()
}

/// A calling peer.
struct Caller {
    node: Node,
    _tasks: Tasks,
}

impl Caller {
    async fn start() -> Self {
        let tasks = Tasks::new();
        let key = Keypair::generate_ed25519();
        let node = Node::start(NodeConfig::default(), key, &tasks);
        Self {
            node: node.await.unwrap(),
            _tasks: tasks,
        }
    }

    async fn open(&self, peer: PeerId, at: &[Multiaddr], protocol: &'static str) -> Stream {
        let protocols = [StreamProtocol::new(protocol)];
        let opened = self.node.open(peer, at, &protocols);
        soon(opened).await.unwrap().0
    }

    async fn ask_at(
        &self,
        peer: PeerId,
        at: &[Multiaddr],
        protocol: &'static str,
        request: &str,
    ) -> String {
        let mut stream = self.open(peer, at, protocol).await;
        let wait = Duration::from_secs(60);
        let answer = exchange::ask(&mut stream, request.as_bytes(), MAX_ANSWER, wait);
        String::from_utf8(answer.await.unwrap()).unwrap()
    }

    async fn ask(&self, sidecar: &Sidecar, protocol: &'static str, request: &str) -> String {
        let at = sidecar.node().addresses();
        self.ask_at(sidecar.peer_id(), &at, protocol, request).await
    }

    async fn card(&self, sidecar: &Sidecar) -> String {
        self.ask(sidecar, PROTOCOL_CARD, "").await
    }

    async fn hand_off(&self, sidecar: &Sidecar, request: &Value) -> String {
        let request = request.to_string();
        self.ask(sidecar, PROTOCOL_HANDOFF, &request).await
    }

    /// Sends a handoff that must be refused with this code.
    async fn refused(&self, sidecar: &Sidecar, request: &Value, code: u16) -> String {
        let body = self.hand_off(sidecar, request).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["code"], code, "{request} -> {body}");
        body["error"].as_str().unwrap().to_owned()
    }
}

/// Reads the next line of a stream.
async fn next_line(stream: &mut Stream) -> Value {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        assert_eq!(soon(stream.read(&mut byte)).await.unwrap(), 1);
        line.push(byte[0]);
    }
    serde_json::from_slice(&line).unwrap()
}
