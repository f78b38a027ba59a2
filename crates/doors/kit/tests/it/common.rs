//! A server with the few routes that the tests need, and exchanges of raw bytes with it.

use std::{net::SocketAddr, ops::Deref, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::Path,
    routing::{get, post},
};
use futures_util::stream;
use http::StatusCode;
use jackfield_core::units::{Size, Span};
pub(crate) use jackfield_kit::testing::SOON;
use jackfield_kit::{
    api::ApiError,
    body,
    server::{RequestPeer, Server, ServerLimits},
    sse::{self, SseBody, SseFrame},
    tasks::Tasks,
    testing::TestServer,
    tls::Tls,
    upgrade::Upgrade,
    ws::{WsConfig, WsEvent, WsMessage},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};

/// A running server.
pub(crate) struct Running {
    pub(crate) server: TestServer,
    /// Hears when a session ends.
    pub(crate) ended: mpsc::Receiver<()>,
}

impl Deref for Running {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.server
    }
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_with(None, ServerLimits::default(), Duration::from_secs(5)).await
    }

    pub(crate) async fn start_with(
        tls: Option<Tls>,
        limits: ServerLimits,
        stop_limit: Duration,
    ) -> Self {
        let (ending, ended) = mpsc::channel(100);
        let app = |tasks| app(tasks, ending);
        let running = Self::serve(app, tls, limits, stop_limit).await;
        Self { ended, ..running }
    }

    /// Serves something else.
    pub(crate) async fn serve(
        app: impl FnOnce(Tasks) -> Router,
        tls: Option<Tls>,
        limits: ServerLimits,
        stop_limit: Duration,
    ) -> Self {
        let server = TestServer::start(stop_limit, |listener, tasks| {
            let app = app(tasks.clone());
            let server = Server::new(vec![listener], app, tasks).with_limits(limits);
            match tls {
                Some(tls) => server.with_tls(tls),
                None => server,
            }
        });
        Self {
            server: server.await,
            ended: mpsc::channel(1).1,
        }
    }

    /// Waits for the end of a server that was told to stop.
    pub(crate) async fn join(self) -> usize {
        self.server.join().await
    }
}

fn app(tasks: Tasks, ending: mpsc::Sender<()>) -> Router {
    let ws = move |Extension(peer): Extension<RequestPeer>, upgrade: Upgrade| async move {
        let stop = tasks.stop_token().clone();
        let upgrade = upgrade.with_protocol("echo");
        upgrade.run(&tasks, WsConfig::default(), |mut ws| async move {
            ws.set_account(peer.account);
            // The shape of every door's session.
            loop {
                let turn = tokio::select! {
                    turn = ws.next_event(true) => turn,
                    () = stop.cancelled(), if !ws.is_closing() => {
                        ws.queue_close(1001, "stopping");
                        break;
                    }
                };
                match turn {
                    WsEvent::Frame(frame) => {
                        let mut next = Some(Ok(frame));
                        while let Some(Ok(frame)) = next {
                            match frame {
                                WsMessage::Text(text) if &*text == "grow" => {
                                    ws.set_max_message(8 << 20);
                                }
                                WsMessage::Text(text) => ws.queue_text(&text).unwrap(),
                                WsMessage::Binary(bytes) => ws.queue_binary(&bytes).unwrap(),
                                _ => {}
                            }
                            next = ws.try_next();
                        }
                    }
                    WsEvent::Flushed => {}
                    WsEvent::Closed => break,
                    WsEvent::Failed(error) => {
                        if let Some(code) = error.close_code() {
                            ws.queue_close(code, &error.to_string());
                        }
                        break;
                    }
                }
            }
            ws.finish(Duration::from_secs(5)).await;
            ending.send(()).await.ok();
        })
    };
    Router::new()
        .route("/ws", get(ws))
        .route("/", get(|| async { "hello" }))
        .route("/healthz", get(|| async { "ok" }))
        .route("/refuse", post(|| async { StatusCode::UNAUTHORIZED }))
        .route("/read", post(read))
        .route("/large/{bytes}", get(large))
        .route("/echo", post(|body: String| async { body }))
        .route(
            "/peer",
            get(|Extension(peer): Extension<RequestPeer>| async move {
                format!("{} {}", peer.addr, peer.hangup.is_hung_up())
            }),
        )
        .route(
            "/sse",
            get(|| async {
                let (sender, body) = sse::channel(4);
                sender.send(SseFrame::data("{\"n\":1}")).await.ok();
                sender.send(SseFrame::data("{\"n\":2}")).await.ok();
                body
            }),
        )
        .route(
            "/endless",
            get(|| async {
                SseBody::new(stream::repeat_with(|| SseFrame::data("x".repeat(10_000))))
            }),
        )
}

/// Reads a body as doors do.
async fn read(body: Body) -> Result<String, ApiError> {
    let text = body::read(body, Size::mib(8), Span::secs(30)).await?;
    Ok(text.len().to_string())
}

/// An answer of so many bytes.
async fn large(Path(bytes): Path<usize>) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// Sends raw bytes and reads until the head of the response has come.
pub(crate) async fn exchange(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    read_head(stream).await
}

pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

/// One request on a connection of its own; the whole response.
pub(crate) async fn request(addr: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}
