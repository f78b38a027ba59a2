//! The place that is called back. The test sees each post and says what it is answered.

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jackfield_bridge::{CallbackKey, CallbackRules, Platform};
use jackfield_kit::outbound::{Outbound, OutboundRules};
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

use crate::harness::{platform, soon};

/// The key that signs callbacks.
pub(crate) const KEY: &str = "callback key";

/// One post.
pub(crate) struct Post {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    body: String,
    answer: oneshot::Sender<Response>,
}

impl Post {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Answers it.
    pub(crate) fn answer(self, answer: impl axum::response::IntoResponse) {
        self.answer.send(answer.into_response()).ok();
    }

    pub(crate) fn ok(self) {
        self.answer(StatusCode::NO_CONTENT);
    }

    /// Checks the signature as a receiver would; returns its time.
    pub(crate) fn verified(&self) -> i64 {
        let signature = self.header("jackfield-signature").unwrap();
        let (time, hex) = signature
            .strip_prefix("t=")
            .unwrap()
            .split_once(",v1=")
            .unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(KEY.as_bytes()).unwrap();
        let id = self.header("idempotency-key").unwrap();
        mac.update(format!("{time}.{id}.{}", self.body).as_bytes());
        let expected = mac.finalize().into_bytes();
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
        time.parse().unwrap()
    }
}

/// A server that is called back.
pub(crate) struct Called {
    pub(crate) port: u16,
    posts: Receiver<Post>,
    _server: JoinSet<()>,
}

impl Called {
    pub(crate) async fn start() -> Self {
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

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn next(&mut self) -> Post {
        soon(self.posts.recv()).await.unwrap()
    }

    /// Whether nobody has posted anything.
    pub(crate) fn is_idle(&self) -> bool {
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

/// A platform that is called back, by these rules.
pub(crate) fn calling_back(rules: CallbackRules) -> Platform {
    Platform {
        callbacks: Some(rules),
        ..platform()
    }
}

/// Rules under which private addresses may be called.
pub(crate) fn lenient() -> CallbackRules {
    rules(true)
}

/// Rules as they are by default.
pub(crate) fn strict() -> CallbackRules {
    rules(false)
}

fn rules(allow_private: bool) -> CallbackRules {
    let rules = OutboundRules {
        allow_private,
        ..OutboundRules::default()
    };
    CallbackRules {
        key: CallbackKey::new(KEY),
        outbound: Outbound::new(&rules).unwrap(),
        base: None,
        trusted_origins: Vec::new(),
    }
}
