//! The receiver of callbacks: a plain HTTP server. The test controls each response.

use std::collections::HashMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jackfield_testkit::SOON;
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};

use crate::kill::agent::text;

/// Maximum number of posts waiting for the test.
const POSTS: usize = 64;

/// A server that receives callbacks.
pub(crate) struct Receiver {
    port: u16,
    posts: mpsc::Receiver<Post>,
    _server: JoinSet<()>,
}

/// A bound port without a listener; connections are refused.
pub(crate) struct Closed(TcpSocket);

impl Closed {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = "127.0.0.1:0".parse().expect("an address");
        socket.bind(any).expect("a free port");
        Self(socket)
    }

    pub(crate) fn url(&self) -> String {
        let addr = self.0.local_addr().expect("an address");
        format!("http://{addr}/callback")
    }

    /// Starts to listen.
    pub(crate) fn open(self) -> Receiver {
        let listener = self.0.listen(1024).expect("it listens");
        Receiver::on(listener)
    }
}

impl Receiver {
    pub(crate) fn start() -> Self {
        Closed::new().open()
    }

    fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let (sender, posts) = mpsc::channel(POSTS);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let sender = sender.clone();
                connections.spawn(async move {
                    // A killed hub may leave half a request.
                    if let Some(post) = Post::read(socket).await {
                        sender.send(post).await.ok();
                    }
                });
            }
        });
        Self {
            port,
            posts,
            _server: server,
        }
    }

    /// The receiver's origin.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A URL of the receiver.
    pub(crate) fn url(&self) -> String {
        format!("{}/callback", self.origin())
    }

    /// Returns the next post, without a timeout.
    pub(crate) async fn wait(&mut self) -> Post {
        self.posts.recv().await.expect("the server runs")
    }

    /// Returns the next post.
    pub(crate) async fn next(&mut self) -> Post {
        let next = timeout(SOON, self.wait()).await;
        next.expect("a callback")
    }
}

/// A post without a response.
pub(crate) struct Post {
    /// The path with its query.
    pub(crate) path: String,
    headers: HashMap<String, String>,
    body: String,
    socket: BufReader<TcpStream>,
}

impl Post {
    async fn read(socket: TcpStream) -> Option<Self> {
        let mut socket = BufReader::new(socket);
        let first = line(&mut socket).await?;
        let path = first.strip_prefix("POST ")?.strip_suffix(" HTTP/1.1")?;
        let mut headers = HashMap::new();
        loop {
            let header = line(&mut socket).await?;
            match header.split_once(": ") {
                Some((name, value)) => {
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                None => break,
            }
        }
        let length = headers.get("content-length")?.parse().ok()?;
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.ok()?;
        Some(Self {
            path: path.to_owned(),
            headers,
            body: String::from_utf8(body).ok()?,
            socket,
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The idempotency key, by which a receiver detects duplicates.
    pub(crate) fn key(&self) -> &str {
        self.header("idempotency-key").expect("each has one")
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// The request that the post reports.
    pub(crate) fn request(&self) -> String {
        text(&self.body(), "request_id")
    }

    /// Checks the signature like a receiver with the operator's key.
    pub(crate) fn assert_signed(&self, key: &str) {
        let signature = self.header("jackfield-signature").expect("it is signed");
        let parts = signature.strip_prefix("t=").expect(signature);
        let (time, digest) = parts.split_once(",v1=").expect(signature);
        let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("any key");
        mac.update(format!("{time}.{}.{}", self.key(), self.body).as_bytes());
        let expected = mac.finalize().into_bytes();
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected);
    }

    /// Accepts the post.
    pub(crate) async fn ok(self) {
        self.answer("204 No Content", "").await;
    }

    /// Responds with a status and further header lines.
    pub(crate) async fn answer(mut self, status: &str, headers: &str) {
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n{headers}\r\n");
        // The hub may be dead.
        self.socket.write_all(answer.as_bytes()).await.ok();
        self.socket.shutdown().await.ok();
    }

    /// Closes the connection without a response.
    pub(crate) fn cut(self) {
        drop(self.socket);
    }
}

async fn line(socket: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    socket.read_line(&mut line).await.ok()?;
    Some(line.strip_suffix("\r\n")?.to_owned())
}

/// Received callbacks by request. A repeated callback must have the same body and key.
#[derive(Default)]
pub(crate) struct Deliveries(HashMap<String, (String, Value)>);

impl Deliveries {
    /// Records a post, and returns whether it's new.
    pub(crate) fn note(&mut self, post: &Post) -> bool {
        let deliveries = (post.key().to_owned(), post.body());
        let before = self.0.get(&post.request());
        if let Some(before) = before {
            assert_eq!(*before, deliveries, "one request has one end");
        }
        self.0.insert(post.request(), deliveries).is_none()
    }

    /// The reported result of a request.
    pub(crate) fn of(&self, request: &str) -> Option<&Value> {
        self.0.get(request).map(|(_, body)| body)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
