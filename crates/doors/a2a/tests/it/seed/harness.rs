//! A hub with this door on a port of its own, and agents whose part the test plays.

use std::{net::SocketAddr, sync::Arc};

use jackfield_a2a::{A2aDoor, router};
use jackfield_core::{
    agent::Profile,
    call::Call,
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
    token::TokenLookup,
};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::{
    auth::Gatekeeper,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON, Sse, SseReader},
};
use jackfield_model::{Done, End, Event, Owner};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// The body of the seed's curl command, copied.
pub(crate) const CURL: &str = r#"{
    "jsonrpc": "2.0",
    "method": "message/send",
    "id": "req-1",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "user",
        "agentId": "my-agent",
        "contextId": "session-123",
        "parts": [{"kind": "text", "text": "Hello!"}]
      }
    }
  }"#;

/// The parts of [`CURL`].
pub(crate) const PARTS: &str = r#"[{"kind": "text", "text": "Hello!"}]"#;

pub(crate) const SEND: &str = "/a2a/message/send";
pub(crate) const STREAM: &str = "/a2a/message/stream";

/// The seed's body with one thing changed, which must be there.
pub(crate) fn changed(from: &str, to: &str) -> String {
    assert!(CURL.contains(from), "{from}");
    CURL.replacen(from, to, 1)
}

/// A hub with a server.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) hub: Hub,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let hub = Hub::open(Arc::new(MemoryStore::default()), limits)
            .await
            .unwrap();
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let app = router(A2aDoor::new(hub.clone(), gatekeeper));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(Server::new(vec![listener], app, Tasks::new()).run(SOON));
        Self {
            addr,
            hub,
            client: reqwest::Client::new(),
            _server: server,
        }
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
    }

    /// A request as the seed's curl command makes it.
    pub(crate) fn request(&self, path: &str, body: impl Into<String>) -> RequestBuilder {
        let request = self.ask(Method::POST, path).body(body.into());
        request.header("Content-Type", "application/json")
    }

    /// The answer to a request.
    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> (StatusCode, Value) {
        told(self.request(path, body)).await
    }

    /// Opens a stream; panics if it is refused.
    pub(crate) async fn stream(&self, body: impl Into<String>) -> Stream {
        Stream::of(self.request(STREAM, body)).await
    }

    /// A connection on which the test writes the bytes itself.
    pub(crate) async fn raw(&self, request: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.addr).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }

    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        new.await.unwrap().secret
    }

    /// Somebody who may register agents, as a token proved it.
    pub(crate) async fn owner(&self, name: &str) -> Principal {
        let token = self.token(name, &["agent:*"]).await;
        match self.hub.tokens().look_up(&token) {
            TokenLookup::Valid(principal) => principal,
            other => panic!("{other:?}"),
        }
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_for(&Principal::local(), id)
    }

    pub(crate) fn attach_for(&self, principal: &Principal, id: &str) -> Scripted {
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, Profile::default(), manner)
    }
}

/// Sends a request and takes the answer apart, which must be JSON.
pub(crate) async fn told(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (status, body)
}

/// The body of a refusal that says nothing more than it must.
pub(crate) fn error(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}

/// The body of a refusal that names the core's reason.
pub(crate) fn failed(id: impl Into<Value>, code: i64, message: &str, reason: &str) -> Value {
    let mut body = error(id, code, message);
    body["error"]["data"] = json!({"reason": reason});
    body
}

/// Answers the next call of an agent with these words, and gives it back.
pub(crate) async fn answered(agent: &mut Scripted, words: &str) -> Arc<Call> {
    let serving = agent.next_call().await;
    let call = serving.call().clone();
    serving.push(Event::text(words));
    serving.finish(End::done());
    call
}

/// The end of an answer that is given only there.
pub(crate) fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.into()),
        ..Done::default()
    }))
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream(pub(crate) SseReader);

impl Stream {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self(SseReader::of(request.send().await.unwrap()).await)
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Sse> {
        self.0.next().await
    }

    /// The data of the next event, which must be of this name.
    pub(crate) async fn expect(&mut self, event: &str) -> Value {
        let next = self.next().await.expect("the stream goes on");
        assert_eq!(next.event.as_deref(), Some(event), "{next:?}");
        next.data
    }

    /// Checks that nothing more comes.
    pub(crate) async fn ends(&mut self) {
        assert_eq!(self.next().await, None);
    }
}

/// Reads a raw socket until the text is there.
pub(crate) async fn read_until(socket: &mut TcpStream, wanted: &str) -> String {
    let (mut text, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = soon(socket.read(&mut buffer)).await.unwrap();
        // What is wanted may lie across two reads.
        let from = text.len().saturating_sub(wanted.len());
        text.extend_from_slice(&buffer[..count]);
        if String::from_utf8_lossy(&text[from..]).contains(wanted) {
            return String::from_utf8(text).unwrap();
        }
        assert!(count > 0, "ended before {wanted:?}: {} bytes", text.len());
    }
}
