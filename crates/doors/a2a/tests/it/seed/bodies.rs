//! Bodies are counted while they are read, whatever their headers say.

use std::fmt::Write as _;

use jackfield_core::{limits::Limits, units::Size};
use reqwest::StatusCode;
use tokio::io::AsyncWriteExt as _;

use crate::seed::harness::{A2aHub, SEND, answered, changed, failed, read_until, soon};

const LIMIT: usize = 64 << 10;

fn limits() -> Limits {
    Limits {
        message: Size(LIMIT),
        ..Limits::default()
    }
}

/// The seed's body, made this long.
fn body_of(length: usize) -> String {
    let room = length - changed("Hello!", "").len();
    changed("Hello!", &"x".repeat(room))
}

#[tokio::test]
async fn a_body_at_the_limit_is_taken_and_one_beyond_it_is_413() {
    let hub = A2aHub::start_with(true, limits()).await;
    let mut agent = hub.attach("my-agent");
    let (answer, call) = tokio::join!(hub.post(SEND, body_of(LIMIT)), answered(&mut agent, "ok"));
    assert_eq!(answer.0, StatusCode::OK);
    assert!(call.message.joined_text().len() > LIMIT - 1000);
    let (status, answer) = hub.post(SEND, body_of(LIMIT + 1)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let message = "the body may have at most 64KiB; send less";
    assert_eq!(answer, failed("", -32602, message, "too_large"));
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413_although_no_header_tells_its_length() {
    let hub = A2aHub::start_with(true, limits()).await;
    let _agent = hub.attach("my-agent");
    let mut socket = hub
        .raw(&format!(
            "POST {SEND} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        ))
        .await;
    let mut chunked = String::new();
    for piece in body_of(4 * LIMIT).as_bytes().chunks(10_000) {
        let piece = std::str::from_utf8(piece).unwrap();
        write!(chunked, "{:x}\r\n{piece}\r\n", piece.len()).unwrap();
    }
    chunked.push_str("0\r\n\r\n");
    soon(socket.write_all(chunked.as_bytes())).await.unwrap();
    let answer = read_until(&mut socket, "too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let refusal = r#""code":-32602,"message":"the body may have at most 64KiB; send less""#;
    assert!(answer.contains(refusal), "{answer}");
}

#[tokio::test]
async fn a_length_over_the_limit_is_413_before_the_body_comes() {
    let hub = A2aHub::start_with(true, limits()).await;
    let length = LIMIT + 1;
    let mut socket = hub
        .raw(&format!(
            "POST {SEND} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await;
    let answer = read_until(&mut socket, "too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_breaks_off_reaches_no_agent() {
    let hub = A2aHub::start_with(true, limits()).await;
    let mut agent = hub.attach("my-agent");
    let half = &body_of(1000)[..500];
    let socket = hub
        .raw(&format!(
            "POST {SEND} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{half}"
        ))
        .await;
    drop(socket);
    let (answer, call) = tokio::join!(hub.post(SEND, body_of(1000)), answered(&mut agent, "ok"));
    assert_eq!(answer.0, StatusCode::OK);
    assert!(call.message.joined_text().starts_with("xxx"));
    assert!(agent.has_nothing_to_do());
}
