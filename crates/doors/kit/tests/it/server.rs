//! The server below the doors: HTTP/1.1, HTTP/2, TLS, limits and the way it stops.

use std::{path::Path, sync::Arc, time::Duration};

use crate::common::{Running, SOON, exchange, request};
use futures_util::StreamExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jackfield_kit::{
    server::ServerLimits,
    tls::{ServerCertificateError, Tls},
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs, pki_types::CertificateDer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::Message;

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

fn limits(max_connections: usize, header_read_timeout: Duration) -> ServerLimits {
    ServerLimits {
        max_connections,
        header_read_timeout,
        ..ServerLimits::default()
    }
}

/// Makes a certificate for localhost and returns it.
pub(crate) fn write_certificate(folder: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

pub(crate) async fn connect_tls(
    running: &Running,
    trusted: &CertificateDer<'static>,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|it| it.as_bytes().to_vec()).collect();
    let tcp = TcpStream::connect(running.addr).await.unwrap();
    let name = "localhost".try_into().unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

/// Some requests on one HTTP/2 connection.
async fn get_over_http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> String {
    let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let mut bodies = String::new();
    for path in ["/", "/sse", "/peer"] {
        let request = Request::get(format!("http://localhost{path}"))
            .body(Empty::<Bytes>::new())
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        bodies += std::str::from_utf8(&body).unwrap();
    }
    bodies
}

#[tokio::test]
async fn many_requests_use_one_connection() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    for _ in 0..3 {
        let head = exchange(&mut stream, GET).await;
        assert!(head.starts_with("http/1.1 200 ok"), "{head}");
        let mut body = [0; 5];
        stream.read_exact(&mut body).await.unwrap();
        assert_eq!(&body, b"hello");
    }
}

#[tokio::test]
async fn a_handler_knows_the_peer() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let get = "GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let expected = format!("{} false", stream.local_addr().unwrap());
    assert!(response.ends_with(&expected), "{response}");
}

#[tokio::test]
async fn http2_is_spoken_with_those_who_begin_with_it() {
    let running = Running::start().await;
    let stream = TcpStream::connect(running.addr).await.unwrap();
    let addr = stream.local_addr().unwrap();
    let bodies = get_over_http2(stream).await;
    assert_eq!(
        bodies,
        format!("hellodata: {{\"n\":1}}\n\ndata: {{\"n\":2}}\n\n{addr} false")
    );
}

#[tokio::test]
async fn an_event_stream_has_exactly_its_bytes() {
    let running = Running::start().await;
    let get = "GET /sse HTTP/1.0\r\nHost: x\r\n\r\n";
    let response = request(running.addr, get).await;
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert_eq!(body, "data: {\"n\":1}\n\ndata: {\"n\":2}\n\n");
}

#[tokio::test]
async fn a_peer_that_says_nothing_or_half_a_head_is_let_go() {
    let limits = limits(10, Duration::from_millis(50));
    let running = Running::start_with(None, limits, SOON).await;
    for beginning in ["", "PRI * HTT", "GET / HTTP/1.1\r\nHost:"] {
        let mut stream = TcpStream::connect(running.addr).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        // Either end is fine: closed, or reset because of what we sent.
        timeout(SOON, stream.read_to_end(&mut response))
            .await
            .unwrap()
            .ok();
        assert!(response.is_empty(), "{beginning:?}");
    }
}

/// A request that is being handled, as the answer to `Expect` shows, and whose body is still to come.
const HALF: &str =
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

#[tokio::test]
async fn stopping_lets_a_request_end_and_closes_idle_connections() {
    let running = Running::start().await;
    let mut idle = TcpStream::connect(running.addr).await.unwrap();
    exchange(&mut idle, GET).await;
    idle.read_exact(&mut [0; 5]).await.unwrap();
    let mut busy = TcpStream::connect(running.addr).await.unwrap();
    assert!(exchange(&mut busy, HALF).await.starts_with("http/1.1 100"));
    running.tasks.stop_token().cancel();
    assert_eq!(
        timeout(SOON, idle.read(&mut [0; 1]))
            .await
            .unwrap()
            .unwrap(),
        0
    );
    busy.write_all(b"done").await.unwrap();
    let mut response = String::new();
    busy.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    assert!(response.ends_with("done"));
    let addr = running.addr;
    assert_eq!(timeout(SOON, running.join()).await.unwrap(), 0);
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_in_time_is_dropped() {
    let limit = Duration::from_millis(50);
    let running = Running::start_with(None, ServerLimits::default(), limit).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    // The rest of the body never comes.
    let started = exchange(&mut stream, HALF).await;
    assert!(started.starts_with("http/1.1 100"), "{started}");
    running.tasks.stop_token().cancel();
    assert_eq!(timeout(SOON, running.join()).await.unwrap(), 1);
    let mut rest = Vec::new();
    timeout(SOON, stream.read_to_end(&mut rest))
        .await
        .unwrap()
        .ok();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn tls_speaks_both_versions_of_http_and_websocket() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = write_certificate(folder.path());
    let tls = Tls::load(
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    )
    .unwrap();
    let running = Running::start_with(Some(tls), ServerLimits::default(), SOON).await;

    let stream = connect_tls(&running, &certificate, &["h2", "http/1.1"])
        .await
        .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    assert!(get_over_http2(stream).await.starts_with("hello"));

    let stream = connect_tls(&running, &certificate, &["http/1.1"])
        .await
        .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let client = tokio_tungstenite::client_async("ws://localhost/ws", stream);
    let (mut client, _) = client.await.unwrap();
    for size in [10, 50_000] {
        let message = Message::text("x".repeat(size));
        futures_util::SinkExt::send(&mut client, message.clone())
            .await
            .unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), message);
    }
    running.tasks.stop_token().cancel();
    assert!(matches!(
        client.next().await,
        Some(Ok(Message::Close(Some(_))))
    ));
    assert!(client.next().await.is_none());
    assert_eq!(timeout(SOON, running.join()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_reloaded_certificate_is_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let old = write_certificate(folder.path());
    let (cert, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    let tls = Tls::load(&cert, &key).unwrap();
    let running = Running::start_with(Some(tls.clone()), ServerLimits::default(), SOON).await;
    let mut before = connect_tls(&running, &old, &[]).await.unwrap();

    std::fs::write(&cert, "no certificate").unwrap();
    assert!(matches!(
        tls.reload(),
        Err(ServerCertificateError::Pem { .. })
    ));
    connect_tls(&running, &old, &[]).await.unwrap();

    let new = write_certificate(folder.path());
    tls.reload().unwrap();
    assert!(connect_tls(&running, &old, &[]).await.is_err());
    connect_tls(&running, &new, &[]).await.unwrap();
    before.write_all(GET.as_bytes()).await.unwrap();
    assert_eq!(before.read_u8().await.unwrap(), b'H');
}

#[test]
fn certificates_that_cannot_be_used_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    let missing = Tls::load(&cert, &key).unwrap_err();
    assert!(missing.to_string().contains("cert.pem"), "{missing}");
    write_certificate(folder.path());
    let other_key = generate_simple_self_signed(vec!["x".to_owned()]).unwrap();
    std::fs::write(&key, other_key.signing_key.serialize_pem()).unwrap();
    assert!(matches!(
        Tls::load(&cert, &key),
        Err(ServerCertificateError::Unusable { .. })
    ));
}

#[tokio::test]
async fn plain_http_on_a_port_that_speaks_tls_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let tls = Tls::load(
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    )
    .unwrap();
    let running = Running::start_with(Some(tls), ServerLimits::default(), SOON).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    timeout(SOON, read).await.unwrap().unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{answer}"
    );
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"], "invalid");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("speaks TLS: use https://"), "{message}");
}

#[test]
fn a_certificate_of_no_public_ca_has_a_fingerprint_the_ca_s_if_that_is_sent_along() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    write_certificate(folder.path());
    let alone = Tls::load(&cert, &key).unwrap().fingerprint().unwrap();
    assert!(alone.starts_with("sha256:"), "{alone}");
    assert_eq!(alone.len(), "sha256:".len() + 64);
    let ca = generate_simple_self_signed(vec!["ca".to_owned()]).unwrap();
    let leaf = std::fs::read_to_string(&cert).unwrap();
    std::fs::write(&cert, leaf + &ca.cert.pem()).unwrap();
    let with_ca = Tls::load(&cert, &key).unwrap().fingerprint().unwrap();
    assert_ne!(with_ca, alone);
}

#[tokio::test]
async fn a_tls_handshake_that_stalls_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path());
    let tls = Tls::load(
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    )
    .unwrap();
    let limits = ServerLimits {
        tls_handshake_timeout: Duration::from_millis(50),
        ..ServerLimits::default()
    };
    let running = Running::start_with(Some(tls), limits, SOON).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    assert_eq!(
        timeout(SOON, stream.read(&mut [0; 1]))
            .await
            .unwrap()
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn a_peer_that_does_not_read_its_response_is_let_go() {
    let limits = ServerLimits {
        write_timeout: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    let running = Running::start_with(None, limits, SOON).await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    stream
        .write_all(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    stream.read_u8().await.unwrap();
    timeout(SOON, async {
        while !running.tasks.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}
