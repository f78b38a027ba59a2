//! [`Far`]: an A2A server somewhere else, whose card and answers the test chooses.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    extract::State,
    response::{Html, IntoResponse as _, Response},
    routing::{get, post},
};
use jackfield_kit::testing::soon;
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

/// What the server shows and says.
#[derive(Debug)]
struct Says {
    /// The card; without one it has trouble.
    card: Option<String>,
    /// What it answers to a message; without one it answers with a page for people.
    answer: Option<String>,
    /// The headers of the last request.
    shown: http::HeaderMap,
    /// Whether it thinks about its answers until it is told to go on.
    is_slow: bool,
    /// What those must show who send it a message.
    wants: Option<String>,
}

/// A server somewhere else.
pub(crate) struct Far {
    addr: SocketAddr,
    says: Arc<Mutex<Says>>,
    /// How often the card was asked for.
    looks: watch::Sender<usize>,
    /// A message came, and may be answered.
    came: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
    server: JoinSet<()>,
}

#[derive(Clone)]
struct Shared {
    says: Arc<Mutex<Says>>,
    looks: watch::Sender<usize>,
    came: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
}

impl Far {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let says = Arc::new(Mutex::new(Says {
            card: Some(card(addr, "Far Echo").to_string()),
            answer: Some("hello from afar".to_owned()),
            shown: http::HeaderMap::new(),
            is_slow: false,
            wants: None,
        }));
        let looks = watch::Sender::new(0);
        let (came, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let shared = Shared {
            says: says.clone(),
            looks: looks.clone(),
            came: came.clone(),
            go_on: go_on.clone(),
        };
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(show_card))
            .route("/rpc", post(answer))
            .with_state(shared);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            addr,
            says,
            looks,
            came,
            go_on,
            server,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// It shows another card.
    pub(crate) fn is_called(&self, name: &str) {
        self.shows(&card(self.addr, name).to_string());
    }

    /// It shows a card that says that another server is called.
    pub(crate) fn points_to(&self, other: &Self) {
        self.shows(&card(other.addr, "Elsewhere").to_string());
    }

    /// It shows this as its card.
    pub(crate) fn shows(&self, text: &str) {
        self.says.lock().card = Some(text.to_owned());
    }

    /// It has trouble, until it shows a card again.
    pub(crate) fn breaks(&self) {
        self.says.lock().card = None;
    }

    /// It answers with pages for people.
    pub(crate) fn talks_nonsense(&self) {
        self.says.lock().answer = None;
    }

    /// It thinks about its answers until it is told to go on.
    pub(crate) fn takes_its_time(&self) {
        self.says.lock().is_slow = true;
    }

    /// Waits until a message has come.
    pub(crate) async fn has_a_message(&self) {
        soon(self.came.acquire()).await.unwrap().forget();
    }

    /// It answers one message that it thinks about.
    pub(crate) fn answers(&self) {
        self.go_on.add_permits(1);
    }

    /// It is gone, and leaves its address.
    pub(crate) async fn dies(mut self) -> SocketAddr {
        self.server.shutdown().await;
        self.addr
    }

    /// It lets in only those who show this.
    pub(crate) fn wants(&self, secret: Option<&str>) {
        self.says.lock().wants = secret.map(|secret| format!("Bearer {secret}"));
    }

    /// The header of the last request.
    pub(crate) fn was_shown(&self, name: &str) -> Option<String> {
        let says = self.says.lock();
        let value = says.shown.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    pub(crate) fn looks(&self) -> watch::Receiver<usize> {
        self.looks.subscribe()
    }
}

/// An address where nobody is, for now.
pub(crate) async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

fn card(addr: SocketAddr, name: &str) -> Value {
    json!({
        "protocolVersion": "0.3.0",
        "name": name,
        "description": "says something",
        "url": format!("http://{addr}/rpc"),
        "preferredTransport": "JSONRPC",
        "version": "1.2",
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "says it again", "tags": ["talk"]}]
    })
}

async fn show_card(State(shared): State<Shared>, headers: http::HeaderMap) -> Response {
    let card = {
        let mut says = shared.says.lock();
        says.shown = headers;
        says.card.clone()
    };
    shared.looks.send_modify(|looks| *looks += 1);
    match card {
        Some(card) => ([("content-type", "application/json")], card).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn answer(
    State(shared): State<Shared>,
    headers: http::HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    assert_eq!(body["method"], "message/send");
    let is_slow = shared.says.lock().is_slow;
    shared.came.add_permits(1);
    if is_slow {
        shared.go_on.acquire().await.unwrap().forget();
    }
    let mut says = shared.says.lock();
    says.shown = headers;
    let shown = says.shown.get("authorization");
    let shown = shown.and_then(|shown| shown.to_str().ok());
    if says.wants.is_some() && says.wants.as_deref() != shown {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match &says.answer {
        Some(answer) => Json(json!({
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": {
                "kind": "message",
                "messageId": "m1",
                "contextId": "c1",
                "role": "agent",
                "parts": [{"kind": "text", "text": answer}]
            }
        }))
        .into_response(),
        None => Html("<h1>Nginx</h1>").into_response(),
    }
}
