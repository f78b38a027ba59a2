//! Bodies are counted while they are read, whatever their headers say.

use std::{fmt::Write as _, sync::Arc};

use jackfield_bridge::{BridgeLimits, PlatformSettings};
use jackfield_core::{limits::Limits, units::Size};
use reqwest::Method;
use tokio::io::AsyncWriteExt as _;

use crate::http::harness::{BridgeHub, SECRET, done, platform, read_until, soon};

const LIMIT: usize = 5 << 20;

/// A relay whose content makes the whole body this long.
fn body_of(length: usize) -> String {
    let start = r#"{"agent_id":"amy","session_id":"s","request_id":"r","content":""#;
    let room = length - start.len() - 2;
    format!("{start}{}\"}}", "x".repeat(room))
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413_although_no_header_tells_its_length() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    let mut socket = hub
        .raw(&format!(
            "POST /api/relay HTTP/1.1\r\nHost: x\r\nX-Platform-Secret: {SECRET}\r\nTransfer-Encoding: chunked\r\n\r\n"
        ))
        .await;
    let mut chunked = String::new();
    for piece in body_of(LIMIT + 1).as_bytes().chunks(64 << 10) {
        let piece = std::str::from_utf8(piece).unwrap();
        write!(chunked, "{:x}\r\n{piece}\r\n", piece.len()).unwrap();
    }
    chunked.push_str("0\r\n\r\n");
    soon(socket.write_all(chunked.as_bytes())).await.unwrap();
    let answer = read_until(&mut socket, "payload_too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_length_over_the_limit_is_413_before_the_body_comes() {
    let hub = BridgeHub::start().await;
    let mut socket = hub
        .raw(&format!(
            "POST /api/relay HTTP/1.1\r\nHost: x\r\nX-Platform-Secret: {SECRET}\r\nContent-Length: {}\r\n\r\n",
            LIMIT + 1
        ))
        .await;
    let answer = read_until(&mut socket, "payload_too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn the_limit_is_the_operators_to_choose() {
    let limits = BridgeLimits {
        relay_body: Size::kib(1),
        ..BridgeLimits::default()
    };
    let platform = PlatformSettings {
        limits,
        ..platform()
    };
    let hub = BridgeHub::start_with(Arc::default(), Limits::default(), platform).await;
    for (length, expected) in [(1024, 404), (1025, 413)] {
        let body = Some(body_of(length));
        let (status, answer) = hub.checked(Method::POST, "/api/relay", body).await;
        assert_eq!(status.as_u16(), expected, "{answer}");
        assert_eq!(
            answer["message"].as_str().unwrap().contains("1KiB"),
            expected == 413
        );
    }
}

#[tokio::test]
async fn a_body_just_at_the_limit_is_taken() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let body = body_of(LIMIT);
    assert_eq!(body.len(), LIMIT);
    let request = hub.platform(reqwest::Method::POST, "/api/relay").body(body);
    let opened = crate::http::harness::Stream::of(request);
    let (mut stream, call) = tokio::join!(opened, amy.next_call());
    assert!(call.call().message.joined_text().len() > LIMIT - 100);
    call.finish(done(""));
    assert_eq!(stream.rest().await.len(), 1);
}
