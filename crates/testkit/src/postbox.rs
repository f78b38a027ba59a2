//! [`Postbox`]: a web server that receives posts, such as callbacks of a hub.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
};

use crate::SOON;

/// Maximum number of unread posts.
const ROOM: usize = 64;

/// A received request.
#[derive(Debug)]
pub struct Post {
    /// The path of the URL.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
}

/// A web server that answers every request with 204.
#[derive(Debug)]
pub struct Postbox {
    addr: SocketAddr,
    posts: Receiver<Post>,
    _server: JoinSet<()>,
}

impl Postbox {
    /// Starts the server on a free loopback port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let (sender, posts) = mpsc::channel(ROOM);
        let app = Router::new().fallback(take).with_state(sender);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            addr,
            posts,
            _server: server,
        }
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Waits for the next [`Post`].
    pub async fn next(&mut self) -> Post {
        let next = tokio::time::timeout(SOON, self.posts.recv()).await;
        next.expect("nothing was posted in time")
            .expect("the server runs")
    }

    /// Returns whether no unread post is waiting.
    pub fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }
}

async fn take(
    State(posts): State<Sender<Post>>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    let post = Post {
        path: uri.path().to_owned(),
        headers,
        body,
    };
    match posts.send(post).await {
        Ok(()) => StatusCode::NO_CONTENT,
        // The test is over.
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
