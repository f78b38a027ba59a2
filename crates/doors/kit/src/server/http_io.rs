//! The byte stream that hyper serves. [`HttpIo`] returns bytes that were read ahead before those of the
//! connection, and tells the connection's [`StreamHandover`] when hyper has written everything.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use super::handover::StreamHandover;
use crate::io::Io;

/// The first bytes of an HTTP/2 connection.
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection as given to hyper.
#[derive(Debug)]
pub(crate) struct HttpIo {
    io: Io,
    /// Bytes of the connection that were read before hyper got it.
    ahead: Bytes,
    handover: Arc<StreamHandover>,
}

impl HttpIo {
    pub(super) fn new(io: Io, ahead: Bytes, handover: Arc<StreamHandover>) -> Self {
        Self {
            io,
            ahead,
            handover,
        }
    }

    /// Returns the connection, and the bytes that were read from it and not used, beginning with `read`, which
    /// hyper left over. They are copied: the slice of hyper would keep a buffer of 8 KiB alive, also if empty.
    pub(crate) fn into_parts(self, read: &[u8]) -> (Io, Vec<u8>) {
        (self.io, [read, &self.ahead].concat())
    }
}

/// Reads until the version of HTTP is clear. Returns whether it is HTTP/2, and the bytes that were read.
pub(super) async fn read_version(io: &mut Io) -> io::Result<(bool, Bytes)> {
    let mut read = [0; HTTP2_PREFACE.len()];
    let mut length = 0;
    while length < read.len() && HTTP2_PREFACE.starts_with(&read[..length]) {
        match io.read(&mut read[length..]).await? {
            0 => break,
            count => length += count,
        }
    }
    Ok((
        read == *HTTP2_PREFACE,
        Bytes::copy_from_slice(&read[..length]),
    ))
}

impl AsyncRead for HttpIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.ahead.is_empty() {
            return Pin::new(&mut this.io).poll_read(cx, buf);
        }
        let count = this.ahead.len().min(buf.remaining());
        buf.put_slice(&this.ahead[..count]);
        this.ahead.advance(count);
        if this.ahead.is_empty() {
            // Frees the memory.
            this.ahead = Bytes::new();
            // With the rest of the request in the same read, hyper's first buffer is enough.
            if let Poll::Ready(Err(error)) = Pin::new(&mut this.io).poll_read(cx, buf) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for HttpIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.handover.set_flushed(false);
        Pin::new(&mut this.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.handover.set_flushed(false);
        Pin::new(&mut this.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// hyper flushes only after it has written all it had.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.io).poll_flush(cx);
        this.handover
            .set_flushed(matches!(flushed, Poll::Ready(Ok(()))));
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}
