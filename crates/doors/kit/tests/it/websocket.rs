//! WebSockets through the whole server: by hand, and with a client that is not ours.

use crate::common::{Running, SOON, exchange, read_head, request};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, protocol::CloseFrame, protocol::frame::coding::CloseCode},
};

const HANDSHAKE: &str = "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

async fn connect(running: &Running) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let url = format!("ws://{}/ws", running.addr);
    connect_async(url).await.unwrap().0
}

fn close_code(message: Message) -> u16 {
    match message {
        Message::Close(Some(frame)) => frame.code.into(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_handshake_of_the_rfc_gets_the_answer_of_the_rfc() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let head = exchange(&mut stream, HANDSHAKE).await;
    assert!(
        head.starts_with("http/1.1 101 switching protocols\r\n"),
        "{head}"
    );
    assert!(head.contains("upgrade: websocket\r\n"));
    assert!(head.contains("connection: upgrade\r\n"));
    // The key of RFC 6455 §1.3, in lower case as the head is.
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"));
    assert!(!head.contains("sec-websocket-protocol"));
    stream.write_all(b"\x81\x82\0\0\0\0hi").await.unwrap();
    let mut echo = [0; 4];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"\x81\x02hi");
}

#[tokio::test]
async fn a_frame_sent_together_with_the_handshake_is_not_lost() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let early = [HANDSHAKE.as_bytes(), b"\x81\x82\0\0\0\0hi"].concat();
    stream.write_all(&early).await.unwrap();
    read_head(&mut stream).await;
    let mut echo = [0; 4];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"\x81\x02hi");
}

#[tokio::test]
async fn a_subprotocol_is_chosen_only_if_it_is_offered() {
    let running = Running::start().await;
    let offer = "Sec-WebSocket-Protocol: other, echo\r\n\r\n";
    let handshake = HANDSHAKE.replace("\r\n\r\n", "\r\n") + offer;
    let mut stream = TcpStream::connect(running.addr).await.unwrap();
    let head = exchange(&mut stream, &handshake).await;
    assert!(head.contains("sec-websocket-protocol: echo\r\n"), "{head}");
}

#[tokio::test]
async fn bad_handshakes_are_refused_with_a_clear_error() {
    let running = Running::start().await;
    let cases = [
        ("Upgrade: WebSocket", "X: y", 400, "Upgrade"),
        (
            "Connection: keep-alive, Upgrade",
            "Connection: close",
            400,
            "Connection",
        ),
        (
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Version: 8",
            426,
            "Sec-WebSocket-Version",
        ),
        (
            "Sec-WebSocket-Version: 13",
            "X: y",
            426,
            "Sec-WebSocket-Version",
        ),
        (
            "dGhlIHNhbXBsZSBub25jZQ==",
            "short",
            400,
            "Sec-WebSocket-Key",
        ),
        ("Sec-WebSocket-Key", "X-Key", 400, "Sec-WebSocket-Key"),
    ];
    for (good, bad, status, field) in cases {
        let handshake = HANDSHAKE.replace(good, bad);
        assert_ne!(handshake, HANDSHAKE);
        // So that the response ends with the connection.
        let handshake =
            handshake.replace("Host: localhost", "Host: localhost\r\nConnection: close");
        let response = request(running.addr, &handshake).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{bad}: {response}"
        );
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"], "invalid_handshake");
        assert!(
            body["message"].as_str().unwrap().contains(field),
            "{bad}: {body}"
        );
        assert_eq!(
            head.contains("sec-websocket-version: 13"),
            status == 426,
            "{head}"
        );
    }
}

#[tokio::test]
async fn an_outside_client_gets_a_thousand_frames_echoed() {
    let running = Running::start().await;
    let (mut sender, mut receiver) = connect(&running).await.split();
    let send = async {
        for n in 0..1000 {
            let text = format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(n));
            sender.feed(Message::text(text)).await.unwrap();
        }
        sender.flush().await.unwrap();
    };
    let receive = async {
        for n in 0..1000 {
            let message = receiver.next().await.unwrap().unwrap();
            let expected = format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(n));
            assert_eq!(message.into_text().unwrap().as_str(), expected);
        }
    };
    timeout(SOON, async { tokio::join!(send, receive) })
        .await
        .unwrap();
}

#[tokio::test]
async fn eight_mebibytes_come_back_after_the_limit_was_raised() {
    let running = Running::start().await;
    let mut client = connect(&running).await;
    client.send(Message::text("grow")).await.unwrap();
    let large = vec![7u8; 8 << 20];
    let (mut sender, mut receiver) = client.split();
    let sent = sender.send(Message::binary(large.clone()));
    let (sent, echo) = tokio::join!(sent, receiver.next());
    sent.unwrap();
    assert!(echo.unwrap().unwrap().into_data() == large);
}

#[tokio::test]
async fn too_large_a_message_is_told_with_1009_although_more_is_on_its_way() {
    let running = Running::start().await;
    let (mut sender, mut receiver) = connect(&running).await.split();
    let send = sender.send(Message::text("x".repeat(4 << 20)));
    let (_, close) = timeout(SOON, async { tokio::join!(send, receiver.next()) })
        .await
        .unwrap();
    assert_eq!(close_code(close.unwrap().unwrap()), 1009);
}

#[tokio::test]
async fn a_closing_client_is_answered_with_its_own_code() {
    let mut running = Running::start().await;
    let mut client = connect(&running).await;
    let frame = CloseFrame {
        code: CloseCode::from(4321),
        reason: "enough".into(),
    };
    client.close(Some(frame)).await.unwrap();
    assert_eq!(close_code(client.next().await.unwrap().unwrap()), 4321);
    assert!(client.next().await.is_none());
    timeout(SOON, running.ended.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_vanishes_ends_its_session() {
    let mut running = Running::start().await;
    let client = connect(&running).await;
    drop(client);
    timeout(SOON, running.ended.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn http_and_websocket_share_the_port() {
    let running = Running::start().await;
    let mut client = connect(&running).await;
    let get = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert!(request(running.addr, get).await.ends_with("hello"));
    client.send(Message::text("still here")).await.unwrap();
    let echo = client.next().await.unwrap().unwrap();
    assert_eq!(echo, Message::text("still here"));
}

#[tokio::test]
async fn a_stopping_server_tells_its_sessions() {
    let running = Running::start().await;
    let mut client = connect(&running).await;
    client.send(Message::text("ready")).await.unwrap();
    client.next().await.unwrap().unwrap();
    running.tasks.stop_token().cancel();
    assert_eq!(close_code(client.next().await.unwrap().unwrap()), 1001);
    assert!(client.next().await.is_none());
    assert_eq!(timeout(SOON, running.join()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_client_that_does_not_read_gets_everything_later() {
    let running = Running::start().await;
    let mut client = connect(&running).await;
    client.send(Message::text("grow")).await.unwrap();
    // More than both kernels hold: the echo waits inside the server for its reader.
    let chunk = Message::binary(vec![1u8; 1 << 20]);
    for _ in 0..32 {
        timeout(SOON, client.send(chunk.clone()))
            .await
            .unwrap()
            .unwrap();
    }
    for _ in 0..32 {
        let echo = timeout(SOON, client.next()).await.unwrap();
        assert!(echo.unwrap().unwrap() == chunk);
    }
}
