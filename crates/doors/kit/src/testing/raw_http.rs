//! HTTP requests that a test writes byte by byte.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::soon;

/// Opens a connection and writes `request` to it, unchanged.
pub async fn send_raw(addr: SocketAddr, request: &str) -> TcpStream {
    let mut socket = TcpStream::connect(addr).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// Reads until `wanted` has arrived, and returns all text so far.
pub async fn read_until(socket: &mut TcpStream, wanted: &str) -> String {
    let (mut text, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = soon(socket.read(&mut buffer)).await.unwrap();
        // The wanted text may lie across two reads.
        let from = text.len().saturating_sub(wanted.len());
        text.extend_from_slice(&buffer[..count]);
        if String::from_utf8_lossy(&text[from..]).contains(wanted) {
            return String::from_utf8(text).unwrap();
        }
        assert!(count > 0, "ended before {wanted:?}: {} bytes", text.len());
    }
}
