//! What gRPC needs of the server below the doors: HTTP/2 streams that may last, their trailers, and their ends.

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, response::Response, routing::post};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Version, header};
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::{
    body::{Bytes, Frame, Incoming},
    client::conn::http2::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;
use jackfield_kit::{
    guard::{Guard, HostRules},
    server::ServerLimits,
    tasks::Tasks,
    tls::Tls,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    net::TcpStream,
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
    time::timeout,
};

use crate::{
    common::{Running, SOON},
    server::{connect_tls, write_certificate},
};

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap()
}

/// The server's end of one call. Whether the handler and its body are still there shows in the channel.
struct Call(Sender<Frame<Bytes>>);

impl Call {
    async fn says(&self, text: &'static str) {
        self.0.send(Frame::data(text.into())).await.unwrap();
    }

    /// Ends as gRPC calls do.
    async fn ends(self, status: &'static str) {
        let status = HeaderValue::from_static(status);
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), status)]);
        self.0.send(Frame::trailers(trailers)).await.unwrap();
    }

    /// Waits until the server has dropped its body, or the handler that had none yet.
    async fn is_let_go(&self) {
        soon(self.0.closed()).await;
    }
}

/// A server with a method that streams what the test says, and one that never comes to its head.
struct Grpc {
    running: Running,
    calls: Receiver<Call>,
}

impl Grpc {
    async fn start() -> Self {
        Self::start_with(None, ServerLimits::default(), SOON).await
    }

    async fn start_with(tls: Option<Tls>, limits: ServerLimits, stop_limit: Duration) -> Self {
        let (called, calls) = mpsc::channel(4);
        let silently = called.clone();
        let stream = move |request: Request<Body>| async move {
            assert_eq!(request.version(), Version::HTTP_2);
            assert_eq!(request.headers()[header::TE], "trailers");
            let (frames, said) = mpsc::channel(1);
            called.send(Call(frames)).await.ok();
            let said = stream::unfold(said, async |mut said: Receiver<_>| {
                let frame = said.recv().await?;
                Some((Ok::<_, Infallible>(frame), said))
            });
            Response::new(Body::new(StreamBody::new(said)))
        };
        let silence = move || async move {
            let (frames, _said) = mpsc::channel(1);
            silently.send(Call(frames)).await.ok();
            std::future::pending::<()>().await;
        };
        let app = Router::new()
            .route("/Stream", post(stream))
            .route("/Silence", post(silence))
            .layer(Guard::new(HostRules::default()));
        let running = Running::serve(|_| app, tls, limits, stop_limit).await;
        Self { running, calls }
    }

    async fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.running.addr).await.unwrap();
        Client::over(stream).await
    }

    async fn next_call(&mut self) -> Call {
        soon(self.calls.recv()).await.unwrap()
    }
}

/// A client's connection.
struct Client {
    sender: SendRequest<Empty<Bytes>>,
    /// What holds the socket.
    connection: Tasks,
}

impl Client {
    async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let connection = Tasks::new();
        let builder = Builder::new(connection.clone());
        let (sender, running) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        connection.spawn(running);
        Self { sender, connection }
    }

    /// Closes the socket, whatever is open on it.
    async fn hang_up(self) {
        self.connection.stop(Duration::ZERO).await;
    }

    /// Calls a method; the answer is there when its head is.
    fn call(&mut self, url: &str) -> impl Future<Output = hyper::Result<Response<Incoming>>> {
        self.send(Request::post(url))
    }

    fn send(
        &mut self,
        request: http::request::Builder,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        let request = request
            .header(header::TE, "trailers")
            .header(header::CONTENT_TYPE, "application/grpc");
        self.sender
            .send_request(request.body(Empty::new()).unwrap())
    }

    async fn stream(&mut self) -> Stream {
        let response = soon(self.call("http://localhost/Stream")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Stream(response.into_body())
    }
}

/// The client's end of an answer. Dropping it cancels the call.
struct Stream(Incoming);

impl Stream {
    async fn frame(&mut self) -> Option<hyper::Result<Frame<Bytes>>> {
        soon(self.0.frame()).await
    }

    async fn hears(&mut self, text: &str) {
        let data = self.frame().await.unwrap().unwrap().into_data();
        assert_eq!(data.unwrap(), text);
    }

    async fn ends(mut self, status: &str) {
        let trailers = self.frame().await.unwrap().unwrap().into_trailers();
        assert_eq!(trailers.unwrap()["grpc-status"], status);
        assert!(self.frame().await.is_none());
    }
}

#[tokio::test]
async fn trailers_arrive_behind_what_was_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = write_certificate(folder.path());
    let file = |name| folder.path().join(name);
    let tls = Tls::load(file("cert.pem"), file("key.pem")).unwrap();
    for tls in [None, Some(tls)] {
        let is_plain = tls.is_none();
        let mut grpc = Grpc::start_with(tls, ServerLimits::default(), SOON).await;
        let mut client = if is_plain {
            grpc.connect().await
        } else {
            let stream = connect_tls(&grpc.running, &certificate, &["h2"]).await;
            Client::over(stream.unwrap()).await
        };
        // Several at once on one connection, as channels do.
        let mut streams = [client.stream().await, client.stream().await];
        let calls = [grpc.next_call().await, grpc.next_call().await];
        for (call, stream) in calls.iter().zip(&mut streams) {
            for text in ["one", "two"] {
                call.says(text).await;
                stream.hears(text).await;
            }
        }
        for (call, stream) in calls.into_iter().zip(streams) {
            call.ends("0").await;
            stream.ends("0").await;
        }
    }
}

#[tokio::test]
async fn a_client_that_cancels_lets_go_of_that_call_alone() {
    let mut grpc = Grpc::start().await;
    let mut client = grpc.connect().await;
    let cancelled = client.stream().await;
    let first = grpc.next_call().await;
    let mut other = client.stream().await;
    let second = grpc.next_call().await;
    drop(cancelled);
    first.is_let_go().await;
    second.says("still here").await;
    other.hears("still here").await;
    // Before its head there is only the handler.
    let silent = client.call("http://localhost/Silence");
    let mut silent = Box::pin(silent);
    let third = tokio::select! {
        _ = silent.as_mut() => panic!("it answers nobody"),
        call = grpc.next_call() => call,
    };
    drop(silent);
    third.is_let_go().await;
    second.ends("0").await;
    other.ends("0").await;
}

#[tokio::test]
async fn a_client_that_hangs_up_lets_go_of_all_its_calls() {
    let mut grpc = Grpc::start().await;
    let mut client = grpc.connect().await;
    let stream = client.stream().await;
    let streamed = grpc.next_call().await;
    let mut silent = JoinSet::new();
    silent.spawn(client.send(Request::post("http://localhost/Silence")));
    let waiting = grpc.next_call().await;
    client.hang_up().await;
    streamed.is_let_go().await;
    waiting.is_let_go().await;
    drop(stream);
    assert!(soon(silent.join_next()).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn the_authority_of_a_request_is_guarded_like_a_host() {
    let grpc = Grpc::start().await;
    let mut client = grpc.connect().await;
    let ours = format!("http://{}/Stream", grpc.running.addr);
    let theirs = "http://rebound.example/Stream";
    for (request, expected) in [
        (Request::post(&ours), StatusCode::OK),
        (Request::post(theirs), StatusCode::FORBIDDEN),
        (
            Request::post(theirs).header(header::HOST, "localhost"),
            StatusCode::FORBIDDEN,
        ),
        (
            Request::post(&ours).header(header::HOST, "rebound.example"),
            StatusCode::FORBIDDEN,
        ),
        (
            Request::post(&ours).header(header::ORIGIN, "https://rebound.example"),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let what = format!("{request:?}");
        let response = soon(client.send(request)).await.unwrap();
        assert_eq!(response.status(), expected, "{what}");
    }
}

#[tokio::test]
async fn a_stream_outlasts_the_time_in_which_a_request_must_begin() {
    let limits = ServerLimits {
        header_read_timeout: Duration::from_millis(50),
        ..ServerLimits::default()
    };
    let mut grpc = Grpc::start_with(None, limits, SOON).await;
    let mut client = grpc.connect().await;
    let mut stream = client.stream().await;
    let call = grpc.next_call().await;
    for text in ["one", "two", "three"] {
        // Whoever comes later and says nothing is sent away after that time.
        let mut later = TcpStream::connect(grpc.running.addr).await.unwrap();
        assert_eq!(soon(later.read(&mut [0])).await.unwrap(), 0);
        call.says(text).await;
        stream.hears(text).await;
    }
    let mut other = client.stream().await;
    grpc.next_call().await.says("also here").await;
    other.hears("also here").await;
    call.ends("0").await;
    stream.ends("0").await;
}

#[tokio::test]
async fn a_stop_lets_a_stream_come_to_its_trailers() {
    let mut grpc = Grpc::start().await;
    let mut client = grpc.connect().await;
    let mut stream = client.stream().await;
    let call = grpc.next_call().await;
    grpc.running.tasks.stop_token().cancel();
    call.says("last words").await;
    stream.hears("last words").await;
    call.ends("14").await;
    stream.ends("14").await;
    assert_eq!(soon(grpc.running.join()).await, 0);
    assert!(soon(client.call("http://localhost/Stream")).await.is_err());
}

#[tokio::test]
async fn a_stream_that_does_not_end_is_dropped_when_the_time_to_stop_is_up() {
    let limit = Duration::from_millis(50);
    let mut grpc = Grpc::start_with(None, ServerLimits::default(), limit).await;
    let mut client = grpc.connect().await;
    let mut stream = client.stream().await;
    let call = grpc.next_call().await;
    grpc.running.tasks.stop_token().cancel();
    assert!(soon(grpc.running.join()).await > 0);
    call.is_let_go().await;
    assert!(stream.frame().await.unwrap().is_err(), "and is told");
}
