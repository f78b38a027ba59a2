//! Proxies that do what a test says. A published one is in `tests/it/examples`.

use std::error::Error as _;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_tungstenite::{accept_async, tungstenite::Message as Frame};

use super::*;
use crate::{Error, HubAddress, bridge::connection::connect};

/// A place for a proxy, and its URL with somebody's name and password.
async fn place() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ann:p%40ss@{}", listener.local_addr().unwrap());
    (listener, url)
}

/// What a client says to the proxy first.
async fn request(listener: &TcpListener) -> (TcpStream, String) {
    let (mut tcp, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await.unwrap());
    }
    (tcp, String::from_utf8(head).unwrap())
}

/// What somebody gets who wants to reach a hub.
async fn failure(proxies: &Matcher, hub: &str) -> String {
    let hub = HubAddress::new(hub).unwrap();
    match connect("/ws?agent_id=amy", &hub, proxies).await {
        Err(error @ Error::Unreachable { .. }) => {
            assert!(error.is_retryable());
            error.source().unwrap().to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// A proxy that answers a client with this, and what the client makes of it.
async fn answered(answer: &'static [u8]) -> String {
    let (listener, url) = place().await;
    let proxies = Matcher::builder().all(url).build();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut tcp, _) = request(&listener).await;
        // The client may have had enough.
        tcp.write_all(answer).await.ok();
    });
    let told = failure(&proxies, "http://hub.invalid:7411").await;
    assert!(told.contains("http://127.0.0.1:"), "{told}");
    assert!(!told.contains("p@ss") && !told.contains("ann:"), "{told}");
    told
}

#[tokio::test]
async fn a_socket_goes_through_a_tunnel_of_the_proxy_to_a_hub_that_only_the_proxy_knows() {
    let (listener, url) = place().await;
    let proxies = Matcher::builder().http(url).build();
    let hub = HubAddress::new("http://hub.invalid:7411/base").unwrap();
    let proxy = async {
        let (mut tcp, head) = request(&listener).await;
        let lines = "CONNECT hub.invalid:7411 HTTP/1.1\r\nHost: hub.invalid:7411\r\n";
        let who = "Proxy-Authorization: Basic YW5uOnBAc3M=\r\n\r\n";
        assert_eq!(head, format!("{lines}{who}"));
        tcp.write_all(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n")
            .await
            .unwrap();
        let mut hub = accept_async(tcp).await.unwrap();
        hub.send(Frame::text("hello")).await.unwrap();
        hub
    };
    let (socket, _hub) = tokio::join!(connect("/ws?agent_id=amy", &hub, &proxies), proxy);
    let frame = socket.unwrap().next().await.unwrap().unwrap();
    assert_eq!(frame, Frame::text("hello"));
}

#[tokio::test]
async fn what_is_secret_is_secret_inside_of_the_tunnel() {
    let (listener, url) = place().await;
    let proxies = Matcher::builder().https(url).build();
    let proxy = async {
        let (mut tcp, head) = request(&listener).await;
        assert!(head.starts_with("CONNECT hub.invalid:443 "), "{head}");
        tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut hello = [0; 256];
        tcp.read_exact(&mut hello[..5]).await.unwrap();
        let len = usize::from(u16::from_be_bytes([hello[3], hello[4]])).min(hello.len());
        tcp.read_exact(&mut hello[..len]).await.unwrap();
        // A handshake of TLS, for the hub's name.
        let name = b"hub.invalid";
        assert!(hello.windows(name.len()).any(|it| it == name) || len == hello.len());
    };
    let (told, ()) = tokio::join!(failure(&proxies, "https://hub.invalid"), proxy);
    assert!(!told.contains("proxy"), "the hub hung up: {told}");
}

#[tokio::test]
async fn hubs_that_need_no_proxy_are_reached_without_one() {
    let (hub, _) = place().await;
    let address = format!("http://{}", hub.local_addr().unwrap());
    let direct = async {
        let (tcp, _) = hub.accept().await.unwrap();
        accept_async(tcp).await.unwrap()
    };
    let proxies = Matcher::builder().all("http://proxy.invalid:3128");
    let proxies = proxies.no("other.example, 127.0.0.1").build();
    let address = HubAddress::new(&address).unwrap();
    let (socket, _hub) = tokio::join!(connect("/ws?agent_id=amy", &address, &proxies), direct);
    socket.unwrap();
}

#[tokio::test]
async fn a_proxy_that_does_not_help_is_named_with_what_to_do() {
    let told = answered(b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
    assert!(
        told.contains("403 Forbidden") && told.contains("NO_PROXY"),
        "{told}"
    );
    assert!(told.contains("hub.invalid:7411"), "{told}");
    let told = answered(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
    assert!(told.contains("USER:PASSWORD@HOST:PORT"), "{told}");
    for odd in [
        &b"SSH-2.0-x\r\n\r\n"[..],
        b"HTTP/1.1 2xx\r\n\r\n",
        b"\r\n\r\n",
    ] {
        let told = answered(odd).await;
        assert!(told.contains("does not lead to"), "{told}");
    }
    let told = answered(b"").await;
    assert!(told.contains("cannot reach the proxy"), "{told}");
    let told = answered(&[b'x'; 2 * LONGEST]).await;
    assert!(told.contains("has no end"), "{told}");
}

#[tokio::test]
async fn a_proxy_of_another_kind_and_one_that_is_not_there_are_named() {
    let socks = Matcher::builder()
        .all("socks5://ann:pass@127.0.0.1:1080")
        .build();
    let told = failure(&socks, "http://hub.invalid").await;
    assert!(
        told.contains("socks5://127.0.0.1:1080") && !told.contains("pass"),
        "{told}"
    );
    let (listener, url) = place().await;
    drop(listener);
    let gone = Matcher::builder().all(url).build();
    let told = failure(&gone, "http://hub.invalid").await;
    assert!(told.contains("cannot reach the proxy"), "{told}");
}
