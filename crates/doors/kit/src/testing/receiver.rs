//! The place that is called back. The test sees each post and says what it is answered.

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    net::TcpListener,
    sync::{
        mpsc::{self, Receiver, Sender},
        oneshot,
    },
    task::JoinSet,
};

use super::soon;

/// The key that signs callbacks.
pub const CALLBACK_KEY: &str = "callback key";

/// One post. Dropping it answers 500.
#[derive(Debug)]
pub struct Post {
    /// Where it went.
    pub path: String,
    headers: HeaderMap,
    body: String,
    answer: oneshot::Sender<Response>,
}

impl Post {
    /// The value of a header that comes once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body.
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Answers it.
    pub fn answer(self, answer: impl IntoResponse) {
        self.answer.send(answer.into_response()).ok();
    }

    /// Takes it.
    pub fn ok(self) {
        self.answer(StatusCode::NO_CONTENT);
    }

    /// Checks the signature as a receiver would; returns its time.
    pub fn verified(&self) -> i64 {
        let signature = self.header("jackfield-signature").unwrap();
        let (time, hex) = signature
            .strip_prefix("t=")
            .unwrap()
            .split_once(",v1=")
            .unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(CALLBACK_KEY.as_bytes()).unwrap();
        let id = self.header("idempotency-key").unwrap();
        mac.update(format!("{time}.{id}.{}", self.body).as_bytes());
        let expected = mac.finalize().into_bytes();
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
        time.parse().unwrap()
    }
}

/// A server that is called back.
#[derive(Debug)]
pub struct Called {
    /// The port that it listens on.
    pub port: u16,
    posts: Receiver<Post>,
    _server: JoinSet<()>,
}

impl Called {
    /// Starts one on a port of its own.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, posts) = mpsc::channel(16);
        let app = Router::new().fallback(take).with_state(sender);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            port,
            posts,
            _server: server,
        }
    }

    /// Its scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next post.
    pub async fn next(&mut self) -> Post {
        soon(self.posts.recv()).await.unwrap()
    }

    /// Whether nobody has posted anything.
    pub fn is_idle(&self) -> bool {
        self.posts.is_empty()
    }
}

async fn take(
    State(posts): State<Sender<Post>>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let (answer, answered) = oneshot::channel();
    let post = Post {
        path: uri.path().to_owned(),
        headers,
        body,
        answer,
    };
    posts.send(post).await.ok();
    let gone = || StatusCode::INTERNAL_SERVER_ERROR.into_response();
    answered.await.unwrap_or_else(|_| gone())
}
