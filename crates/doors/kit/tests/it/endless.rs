//! Endless streams over HTTP/1.1, which leave hyper after the head of their response.

use std::time::Duration;

use axum::{Router, response::IntoResponse as _, routing::get};
use futures_util::stream;
use jackfield_kit::{
    server::{EndlessStream, ServerLimits},
    sse::{self, SseBody, SseFrame},
    tls::Tls,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};

use crate::{
    common::{Running, SOON, read_head, request},
    server::{connect_tls, write_certificate},
};

/// Serves an endless stream whose frames the test sends, one after another for each request.
async fn start(tls: Option<Tls>, limits: ServerLimits) -> (Running, mpsc::Receiver<Sender>) {
    let (give, given) = mpsc::channel(4);
    let events = get(move || async move {
        let (sender, body) = sse::channel(4);
        give.send(sender).await.ok();
        let mut response = body.into_response();
        response.extensions_mut().insert(EndlessStream);
        response
    });
    let flood = get(|| async {
        let frames = stream::repeat_with(|| SseFrame::data("x".repeat(10_000)));
        let mut response = SseBody::new(frames).into_response();
        response.extensions_mut().insert(EndlessStream);
        response
    });
    let app = Router::new()
        .route("/events", events)
        .route("/flood", flood)
        .route("/", get(|| async { "hello" }));
    (Running::serve(|_| app, tls, limits, SOON).await, given)
}

type Sender = mpsc::Sender<SseFrame>;

const GET: &str = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";

async fn expect(stream: &mut (impl AsyncRead + Unpin), expected: &str) {
    let mut read = vec![0; expected.len()];
    let reading = timeout(SOON, stream.read_exact(&mut read)).await;
    reading.unwrap().unwrap();
    assert_eq!(std::str::from_utf8(&read).unwrap(), expected);
}

async fn expect_end(stream: &mut (impl AsyncRead + Unpin)) {
    let end = timeout(SOON, stream.read(&mut [0])).await.unwrap();
    assert_eq!(end.unwrap(), 0);
}

#[tokio::test]
async fn the_head_is_that_of_any_other_stream() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    let endless = read_head(&mut stream).await;
    drop(given.recv().await);
    let plain = Running::start().await;
    let mut stream = TcpStream::connect(plain.addr).await.unwrap();
    let get = "GET /sse HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    let other = read_head(&mut stream).await;
    let without_date = |head: &str| {
        let lines = head.lines().map(|line| match line.split_once(':') {
            Some(("date", _)) => "date".to_owned(),
            _ => line.to_owned(),
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(without_date(&endless), without_date(&other));
}

#[tokio::test]
async fn events_are_chunks_and_the_connection_goes_on_after_the_stream() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    for _ in 0..2 {
        stream.write_all(GET.as_bytes()).await.unwrap();
        read_head(&mut stream).await;
        let sender = given.recv().await.unwrap();
        sender.send(SseFrame::data("one")).await.unwrap();
        expect(&mut stream, "B\r\ndata: one\n\n\r\n").await;
        let large = "x".repeat(100_000);
        sender.send(SseFrame::data(large.clone())).await.unwrap();
        expect(&mut stream, &format!("186A8\r\ndata: {large}\n\n\r\n")).await;
        drop(sender);
        expect(&mut stream, "0\r\n\r\n").await;
    }
}

#[tokio::test]
async fn requests_that_come_before_the_end_of_the_stream_are_answered_behind_it() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let next = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    // One that hyper reads together with the first, and more than is read ahead of the end.
    let first = format!("{next}{GET}{next}");
    stream.write_all(first.as_bytes()).await.unwrap();
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    expect(&mut stream, "hello").await;
    read_head(&mut stream).await;
    let sender = given.recv().await.unwrap();
    stream.write_all(next.repeat(100).as_bytes()).await.unwrap();
    sender.send(SseFrame::data("one")).await.unwrap();
    expect(&mut stream, "B\r\ndata: one\n\n\r\n").await;
    drop(sender);
    expect(&mut stream, "0\r\n\r\n").await;
    for _ in 0..101 {
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
        expect(&mut stream, "hello").await;
    }
}

#[tokio::test]
async fn a_reader_that_asked_for_it_is_left_after_the_stream() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let get = "GET /events HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    drop(given.recv().await.unwrap());
    expect(&mut stream, "0\r\n\r\n").await;
    expect_end(&mut stream).await;
}

#[tokio::test]
async fn a_reader_that_hangs_up_ends_the_stream() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    let sender = given.recv().await.unwrap();
    drop(stream);
    timeout(SOON, sender.closed()).await.unwrap();
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_let_go() {
    let limits = ServerLimits {
        write_timeout: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    let (running, _given) = start(None, limits).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let get = "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    let tasks = running.tasks.clone();
    let until_gone = async {
        while !tasks.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, until_gone).await.unwrap();
}

#[tokio::test]
async fn readers_of_http_1_0_and_of_tls_get_the_same_events() {
    let folder = TempDir::new().unwrap();
    let trusted = write_certificate(folder.path());
    let paths = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let tls = Tls::load(&paths[0], &paths[1]).unwrap();
    let (running, mut given) = start(Some(tls), ServerLimits::default()).await;
    let mut stream = connect_tls(&running, &trusted, &[]).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let sender = given.recv().await.unwrap();
    sender.send(SseFrame::data("one")).await.unwrap();
    expect(&mut stream, "B\r\ndata: one\n\n\r\n").await;
    drop(sender);
    expect(&mut stream, "0\r\n\r\n").await;

    let (running, mut given) = start(None, ServerLimits::default()).await;
    let sending = async {
        let sender = given.recv().await.unwrap();
        sender.send(SseFrame::data("one")).await.unwrap();
    };
    let get = "GET /events HTTP/1.0\r\nHost: x\r\n\r\n";
    let (response, ()) = tokio::join!(request(running.addr, get), sending);
    assert!(response.ends_with("\r\n\r\ndata: one\n\n"), "{response}");
}

#[tokio::test]
async fn a_stopping_server_closes_the_connection_after_the_stream() {
    let (running, mut given) = start(None, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    let sender = given.recv().await.unwrap();
    running.tasks.stop_token().cancel();
    sender.send(SseFrame::data("bye")).await.unwrap();
    expect(&mut stream, "B\r\ndata: bye\n\n\r\n").await;
    drop(sender);
    expect(&mut stream, "0\r\n\r\n").await;
    expect_end(&mut stream).await;
    assert_eq!(running.join().await, 0);
}
