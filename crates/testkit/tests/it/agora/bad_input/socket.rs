//! Errors below the protocol: sizes, encodings, frames, handshakes, timeouts.

use std::time::{Duration, Instant};

use jackfield_core::units::{Size, Span};
use jackfield_testkit::{Raw, SOON, TestHub};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Bystanders;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const LAST: u8 = 0x80;

#[tokio::test]
async fn before_register_a_frame_has_64_kib() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.connect().await;
    let fits = format!(r#"{{"type":"list","pad":"{}"}}"#, "x".repeat(65_000));
    raw.send_text(fits).await;
    assert_eq!(raw.frame().await["type"], "agents");
    raw.send_raw(LAST | TEXT, &vec![b' '; (64 << 10) + 1]).await;
    raw.expect_error(json!({"code": "too_large"})).await;
    assert_eq!(raw.closed().await.0, 1009);
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn after_register_a_frame_has_8_mib() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    let head = r#"{"type":"send","to":"by-2","payload":""#;
    let fits = format!("{head}{}\"}}", "x".repeat((8 << 20) - head.len() - 2));
    assert_eq!(fits.len(), 8 << 20);
    raw.send_text(fits).await;
    assert_eq!(bystanders.two.frame().await["from"], "bad");
    raw.send_raw(LAST | TEXT, &vec![b' '; (8 << 20) + 1]).await;
    raw.expect_error(json!({"code": "too_large"})).await;
    assert_eq!(raw.closed().await.0, 1009);
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn a_message_in_many_fragments_has_the_same_limit() {
    let hub = TestHub::start().await;
    let mut raw = hub.connect().await;
    raw.send_raw(TEXT, &[b' '; 40_000]).await;
    raw.send_raw(LAST, &[b' '; 40_000]).await;
    raw.expect_error(json!({"code": "too_large"})).await;
    assert_eq!(raw.closed().await.0, 1009);
}

#[tokio::test]
async fn binary_frames_are_refused_and_the_connection_works_on() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    raw.send_binary(br#"{"type":"list"}"#).await;
    raw.expect_error(json!({"code": "unsupported"})).await;
    raw.send_raw(LAST | BINARY, b"").await;
    raw.expect_error(json!({"code": "unsupported"})).await;
    raw.expect_nothing().await;
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn text_that_is_not_utf8_closes_with_1007() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut raw = hub.agora("bad").await;
    raw.send_raw(LAST | TEXT, b"{\"type\":\"list\",\"x\":\"\xff\xfe\"}")
        .await;
    assert_eq!(raw.closed().await.0, 1007);
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn broken_websocket_frames_close_with_1002() {
    let hub = TestHub::start().await;
    let mut bystanders = Bystanders::join(&hub).await;
    // A continuation without a start, a reserved bit, a fragmented ping.
    for first in [LAST, LAST | 0x40 | TEXT, 0x09] {
        let mut raw = hub.agora("bad").await;
        raw.send_raw(first, b"x").await;
        assert_eq!(raw.closed().await.0, 1002, "{first:#x}");
        raw.gone().await;
    }
    bystanders.are_undisturbed().await;
}

#[tokio::test]
async fn fragments_pings_between_them_and_empty_frames_are_fine() {
    let hub = TestHub::start().await;
    let mut raw = hub.agora("bad").await;
    raw.send_raw(TEXT, br#"{"type":"#).await;
    raw.send_raw(LAST | 9, b"still there?").await;
    raw.send_raw(0, b"").await;
    raw.send_raw(LAST, br#""ping"}"#).await;
    raw.expect(json!({"type": "pong"})).await;
    // A character split in half.
    raw.send_raw(
        TEXT,
        b"{\"type\":\"send\",\"to\":\"bad\",\"payload\":\"\xc3",
    )
    .await;
    raw.send_raw(LAST, b"\xa9\"}").await;
    raw.expect(json!({"type": "message", "from": "bad", "payload": "é"}))
        .await;
    raw.send_raw(LAST | TEXT, b"").await;
    raw.expect_error(json!({"code": "invalid"})).await;
    raw.expect_nothing().await;
}

#[tokio::test]
async fn who_does_not_register_in_time_is_told_with_1008() {
    let hub = TestHub::start_with(|config| config.limits.register = Span::millis(200)).await;
    let mut silent = hub.connect().await;
    assert_eq!(silent.closed().await.0, 1008);
    // Neither pings nor invalid frames extend the timeout.
    for noise in [
        r#"{"type":"ping"}"#,
        "noise",
        r#"{"type":"register","id":"!"}"#,
    ] {
        let mut raw = hub.connect().await;
        let begun = Instant::now();
        while raw.maybe_send_text(noise).await && raw.maybe_text().await.is_some() {
            assert!(begun.elapsed() < SOON, "{noise} keeps a connection");
        }
    }
}

#[tokio::test]
async fn a_list_buys_time_to_register() {
    let hub = TestHub::start_with(|config| config.limits.register = Span::millis(600)).await;
    let mut raw = hub.connect().await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1500) {
        raw.send(json!({"type": "list"})).await;
        assert_eq!(raw.frame().await["type"], "agents");
    }
    assert_eq!(raw.closed().await.0, 1008);
}

#[tokio::test]
async fn hostile_origins_and_hosts_are_refused_before_the_upgrade() {
    let hub = TestHub::start_with(|config| {
        config.allowed_origins = vec!["https://console.example.com".to_owned()];
    })
    .await;
    for origin in [
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        "file://",
    ] {
        let refused = Raw::connect_with(hub.addr(), "/ws", &[("origin", origin)]).await;
        assert_eq!(refused.err(), Some(403), "{origin}");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example"] {
        let refused = Raw::connect_with(hub.addr(), "/ws", &[("host", host)]).await;
        assert_eq!(refused.err(), Some(403), "{host}");
    }
    let own = format!("http://{}", hub.addr());
    for origin in [own.as_str(), "https://console.example.com"] {
        let headers = [("origin", origin)];
        let mut raw = Raw::connect_with(hub.addr(), "/ws", &headers)
            .await
            .unwrap();
        raw.register("fine").await;
    }
}

#[tokio::test]
async fn a_request_without_one_host_is_refused() {
    let hub = TestHub::start().await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for hosts in ["", "Host: 127.0.0.1\r\nHost: evil.example\r\n"] {
        let mut tcp = TcpStream::connect(hub.addr()).await.unwrap();
        let request = format!("GET /ws HTTP/1.1\r\n{hosts}{upgrade}");
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        tcp.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400", "{hosts:?}");
    }
}

#[tokio::test]
async fn who_asks_without_reading_the_answers_is_not_read_any_further() {
    let hub = TestHub::start_with(|config| {
        config.limits.pipe_full = Size::kib(64);
        config.limits.pipe_low = Size::kib(32);
        config.limits.write_stuck = Span::secs(2);
    })
    .await;
    let mut bystanders = Bystanders::join(&hub).await;
    let mut watching = crate::agora::watch(&hub, "bad");
    let mut raw = hub.agora_narrow("bad").await;
    // Long unread answers to short requests: the hub stops reading, then disconnects.
    let flood = async {
        let question = json!({"type": "send", "to": "x", "stream_id": "x".repeat(300)});
        let mut sent = 0u64;
        while raw.feed(&question).await {
            sent += 1;
            assert!(sent < 200_000, "the hub reads on and on");
        }
    };
    tokio::time::timeout(SOON, flood)
        .await
        .expect("the hub holds on to a peer that takes nothing");
    crate::agora::until_offline(&mut watching).await;
    bystanders.are_undisturbed().await;
}
