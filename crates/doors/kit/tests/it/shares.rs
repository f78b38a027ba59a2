//! What the server holds for its peers, and how much of it each of them may have: connections, input that is not
//! complete, answers that are not sent.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, body::Body, routing::get};
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http2::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;
use jackfield_kit::{server::ServerLimits, tasks::Tasks};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

use crate::common::{Running, SOON, exchange, read_head, request};

const KIB: usize = 1024;
const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap()
}

async fn start(limits: ServerLimits) -> Running {
    Running::start_with(None, limits, SOON).await
}

/// An HTTP/2 connection whose streams have this window to begin with.
struct Client {
    sender: SendRequest<Empty<Bytes>>,
    _connection: Tasks,
}

impl Client {
    async fn connect(running: &Running, window: u32) -> Self {
        let stream = TcpStream::connect(running.addr).await.unwrap();
        let connection = Tasks::new();
        let mut builder = Builder::new(connection.clone());
        builder.initial_stream_window_size(window);
        let (sender, running) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        connection.spawn(running);
        Self {
            sender,
            _connection: connection,
        }
    }

    async fn get(&mut self, path: &str) -> Response<Incoming> {
        let request = Request::get(format!("http://localhost{path}"));
        let request = request.body(Empty::new()).unwrap();
        soon(self.sender.send_request(request)).await.unwrap()
    }
}

/// A body that tells when it is gone.
struct Told(Vec<u8>, #[allow(dead_code)] mpsc::Sender<()>);

impl AsRef<[u8]> for Told {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[tokio::test]
async fn a_stream_whose_peer_takes_nothing_is_reset_and_its_answer_let_go() {
    for (window, size) in [(0, 7 << 20), (0, 10), (1, 100 * KIB), (20_000, 7 << 20)] {
        let (told, mut gone) = mpsc::channel(1);
        let answer = Bytes::from_owner(Told(vec![b'x'; size], told));
        let limits = ServerLimits {
            write_timeout: Duration::from_millis(200),
            ..ServerLimits::default()
        };
        let app = |_| Router::new().route("/", get(|| async move { Body::from(answer) }));
        let running = Running::serve(app, None, limits, SOON).await;
        let mut client = Client::connect(&running, window).await;
        let response = client.get("/").await;
        assert_eq!(response.status(), StatusCode::OK);
        // The handler keeps one, which ends with the server.
        running.tasks.stop_token().cancel();
        assert_eq!(soon(gone.recv()).await, None, "{window} {size}");
        assert!(soon(response.into_body().collect()).await.is_err());
        assert_eq!(soon(running.join()).await, 0);
    }
}

#[tokio::test]
async fn a_peer_that_reads_slowly_gets_all_of_it() {
    let limits = ServerLimits {
        write_timeout: Duration::from_millis(500),
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let mut client = Client::connect(&running, 65_535).await;
    let size = 512 * KIB;
    let mut body = client.get(&format!("/large/{size}")).await.into_body();
    let mut read = 0;
    while let Some(frame) = soon(body.frame()).await {
        read += frame.unwrap().into_data().unwrap().len();
        // Slower than what may stand still in all, and never still for that long.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(read, size);
}

#[tokio::test]
async fn answers_that_nobody_reads_are_refused_beyond_a_share() {
    let limits = ServerLimits {
        answers_total: 1 << 20,
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let path = format!("/large/{}", 200 * KIB);
    let mut unread = Vec::new();
    // On connections of their own: it is the address that counts.
    for _ in 0..3 {
        let mut client = Client::connect(&running, 0).await;
        let response = client.get(&path).await;
        assert_eq!(response.status(), StatusCode::OK);
        unread.push((client, response));
    }
    let mut client = Client::connect(&running, 1 << 20).await;
    let refused = client.get(&path).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    let text = soon(refused.into_body().collect()).await.unwrap();
    let text = String::from_utf8(text.to_bytes().to_vec()).unwrap();
    assert!(text.contains("\"busy\""), "{text}");
    // What is small is always said.
    assert_eq!(client.get("/").await.status(), StatusCode::OK);
    let get = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let refused = soon(request(running.addr, &get)).await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    // One that is let go makes room.
    unread.pop();
    soon(async { while client.get(&path).await.status() != StatusCode::OK {} }).await;
}

#[tokio::test]
async fn answers_of_either_version_give_back_what_was_counted() {
    let limits = ServerLimits {
        answers_total: 1 << 20,
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let path = format!("/large/{}", 500 * KIB);
    let mut client = Client::connect(&running, 65_535).await;
    let get = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for _ in 0..4 {
        let response = client.get(&path).await;
        assert_eq!(response.status(), StatusCode::OK);
        let length = response.headers()["content-length"].clone();
        assert_eq!(length, (500 * KIB).to_string());
        let body = soon(response.into_body().collect()).await.unwrap();
        assert_eq!(body.to_bytes().len(), 500 * KIB);
        let response = soon(request(running.addr, &get)).await;
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(body.len(), 500 * KIB);
    }
}

#[tokio::test]
async fn a_connection_is_told_how_many_streams_it_may_have() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stream.write_all(preface).await.unwrap();
    let mut head = [0; 9];
    soon(stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(head[3], 4, "SETTINGS come first");
    let mut settings = vec![0; usize::from(head[2])];
    soon(stream.read_exact(&mut settings)).await.unwrap();
    let streams = settings.chunks(6).find(|it| it[..2] == [0, 3]).unwrap();
    assert_eq!(streams[2..], 32_u32.to_be_bytes());
}

/// Sends the head of a request and some of its body.
async fn send_half(addr: SocketAddr, half: usize) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        half + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; half]).await.unwrap();
    stream
}

#[tokio::test]
async fn bodies_whose_end_does_not_come_are_refused_beyond_a_share() {
    let limits = ServerLimits {
        input_total: 1 << 20,
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let mut halves = Vec::new();
    let mut answers = JoinSet::new();
    for _ in 0..8 {
        let half = send_half(running.addr, 300 * KIB).await;
        let (mut read, write) = half.into_split();
        halves.push(write);
        answers.spawn(async move {
            let mut start = [0; 12];
            read.read_exact(&mut start).await.unwrap();
            String::from_utf8(start.to_vec()).unwrap()
        });
    }
    // Three have room for all, be it that parts of others took some of it.
    for _ in 0..5 {
        let answer = soon(answers.join_next()).await.unwrap().unwrap();
        assert_eq!(answer, "HTTP/1.1 429");
    }
    // Those that come to their end are taken, and give back what they had.
    for half in &mut halves {
        half.write_all(b"x").await.ok();
    }
    let mut taken = 0;
    while let Some(answer) = soon(answers.join_next()).await {
        taken += usize::from(answer.unwrap() == "HTTP/1.1 200");
    }
    assert!(taken > 0);
    let mut whole = send_half(running.addr, 500 * KIB).await;
    whole.write_all(b"x").await.unwrap();
    let head = soon(read_head(&mut whole)).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

#[tokio::test]
async fn frames_whose_end_does_not_come_are_refused_beyond_a_share() {
    let limits = ServerLimits {
        input_total: 100 * KIB,
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let mut sockets = Vec::new();
    for _ in 0..4 {
        let stream = TcpStream::connect(running.addr).await.unwrap();
        let url = format!("ws://{}/ws", running.addr);
        let (mut ws, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        // A masked binary frame of 60,000 bytes, but for the last of them.
        let mut frame = vec![0x82, 0x80 | 126, 0xEA, 0x60, 0, 0, 0, 0];
        frame.extend(vec![0; 59_999]);
        ws.get_mut().write_all(&frame).await.unwrap();
        sockets.push(ws);
    }
    let mut next = JoinSet::new();
    for mut ws in sockets {
        next.spawn(async move { (ws.next().await, ws) });
    }
    // One has room for all of it.
    for _ in 0..3 {
        let (closed, _) = soon(next.join_next()).await.unwrap().unwrap();
        let Some(Ok(Message::Close(Some(close)))) = closed else {
            panic!("{closed:?}");
        };
        assert_eq!(u16::from(close.code), 1013);
    }
    drop(next);
    // What they had is free again.
    let url = format!("ws://{}/ws", running.addr);
    let (mut ws, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let message = Message::binary(vec![0; 60_000]);
    ws.send(message.clone()).await.unwrap();
    assert_eq!(soon(ws.next()).await.unwrap().unwrap(), message);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_gets_two_thirds_of_the_places_and_the_operator_always_one() {
    let limits = ServerLimits {
        max_connections: 6,
        operator_connections: 3,
        ..ServerLimits::default()
    };
    let running = start(limits).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(running.addr).await.unwrap();
        let head = soon(exchange(&mut stream, GET)).await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
        held.push(stream);
    }
    // One that was upgraded counts as well.
    let url = format!("ws://{}/ws", running.addr);
    let (ws, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let refused = soon(request(running.addr, GET)).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("\"busy\""), "{refused}");
    let upgrade =
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    let refused = soon(request(running.addr, upgrade)).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    // The places that are kept free are for one request each.
    for _ in 0..10 {
        let get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
        let health = soon(request(running.addr, get)).await;
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    }
    // Another address has a place.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = socket.connect(running.addr).await.unwrap();
    let head = soon(exchange(&mut other, GET)).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    // Who leaves makes room.
    drop(ws);
    soon(async {
        loop {
            let mut stream = TcpStream::connect(running.addr).await.unwrap();
            if exchange(&mut stream, GET).await.starts_with("http/1.1 200") {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_goes_on_after_a_request_whose_body_nobody_read() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    for _ in 0..3 {
        let head = "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello";
        stream.write_all(head.as_bytes()).await.unwrap();
        // The rest comes in a packet of its own.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let head = soon(exchange(&mut stream, "world")).await;
        assert!(head.starts_with("http/1.1 401"), "{head}");
        assert!(!head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn a_connection_that_cannot_go_on_is_said_to_end() {
    let running = Running::start().await;
    for more in ["", "Expect: 100-continue\r\n"] {
        let mut stream = TcpStream::connect(running.addr).await.unwrap();
        let head = format!("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n{more}\r\n");
        let head = soon(exchange(&mut stream, &head)).await;
        assert!(head.starts_with("http/1.1 401"), "{head}");
        assert!(head.contains("connection: close"), "{head}");
        assert_eq!(soon(stream.read(&mut [0])).await.unwrap(), 0);
    }
}
