//! Plain HTTP on a TLS port: the client gets a readable error instead of a TLS alert that no HTTP client
//! understands.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::socket::TcpConnection;

/// Bytes of a request that are read before the connection closes. Unread data would reset the connection, and
/// the answer might be lost with it.
const READ: u64 = 64 << 10;

const BODY: &str = r#"{"error":"invalid","message":"this port speaks TLS: use https:// instead of http:// (wss:// instead of ws://)"}"#;

/// Returns whether the first byte of a connection looks like HTTP: a method, or HTTP/2's `PRI`. TLS begins
/// with 0x16.
pub(super) fn is_http(first: u8) -> bool {
    first.is_ascii_uppercase()
}

/// Answers the request with an error and closes the connection.
pub(super) async fn refuse(mut socket: TcpConnection) -> io::Result<()> {
    let length = BODY.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{BODY}"
    );
    socket.write_all(answer.as_bytes()).await?;
    socket.shutdown().await?;
    tokio::io::copy(&mut socket.take(READ), &mut tokio::io::sink()).await?;
    Ok(())
}
