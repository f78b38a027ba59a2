//! [`CallbackReceiver`]: a server that receives callbacks. The test reads each [`Post`] and answers it.

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

/// Maximum number of unread posts.
const ROOM: usize = 64;
/// The key that signs callbacks.
pub const CALLBACK_KEY: &str = "callback key";

/// A received request. Dropping it answers 500.
#[derive(Debug)]
pub struct Post {
    /// The path of the URL.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    body: String,
    /// `None` if the receiver has answered already.
    answer: Option<oneshot::Sender<Response>>,
}

impl Post {
    /// Returns the value of a header that comes once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the body as JSON, or as a string of any other text.
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| self.body.as_str().into())
    }

    /// Answers the post.
    pub fn answer(self, answer: impl IntoResponse) {
        let sender = self
            .answer
            .expect("the receiver leaves answers to the test");
        sender.send(answer.into_response()).ok();
    }

    /// Answers with 204.
    pub fn ok(self) {
        self.answer(StatusCode::NO_CONTENT);
    }

    /// Checks the signature as a receiver would, and returns its time.
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

/// A server that receives callbacks.
#[derive(Debug)]
pub struct CallbackReceiver {
    /// The port of the server.
    pub port: u16,
    posts: Receiver<Post>,
    _server: JoinSet<()>,
}

impl CallbackReceiver {
    /// Starts the server on a free loopback port. The test answers each post.
    pub async fn start() -> Self {
        Self::start_with(false).await
    }

    /// Starts the server on a free loopback port. The server answers each post with 204.
    pub async fn start_accepting() -> Self {
        Self::start_with(true).await
    }

    async fn start_with(accepts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, posts) = mpsc::channel(ROOM);
        let inbox = Inbox { sender, accepts };
        let app = Router::new().fallback(take).with_state(inbox);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            port,
            posts,
            _server: server,
        }
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// Waits for the next post.
    pub async fn next(&mut self) -> Post {
        soon(self.posts.recv()).await.unwrap()
    }

    /// Returns whether no unread post is waiting.
    pub fn is_idle(&self) -> bool {
        self.posts.is_empty()
    }
}

#[derive(Clone)]
struct Inbox {
    sender: Sender<Post>,
    accepts: bool,
}

async fn take(State(inbox): State<Inbox>, uri: Uri, headers: HeaderMap, body: String) -> Response {
    let (answer, answered) = oneshot::channel();
    let post = Post {
        path: uri.path().to_owned(),
        headers,
        body,
        answer: (!inbox.accepts).then_some(answer),
    };
    inbox.sender.send(post).await.ok();
    if inbox.accepts {
        return StatusCode::NO_CONTENT.into_response();
    }
    let gone = || StatusCode::INTERNAL_SERVER_ERROR.into_response();
    answered.await.unwrap_or_else(|_| gone())
}
