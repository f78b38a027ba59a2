//! The byte stream below HTTP and WebSockets. [`Io`] is one type with and without TLS, so that the session of
//! a door is compiled once.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::socket::TcpConnection;

/// A connection accepted by the server.
#[derive(Debug)]
pub enum Io {
    /// Plain TCP.
    Plain(TcpConnection),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpConnection>>),
    /// An upgraded connection of a foreign HTTP server, such as `axum::serve` in a test.
    Foreign(Box<TokioIo<Upgraded>>),
}

/// Evaluates the same expression with the stream of any variant of [`Io`].
macro_rules! with_stream {
    ($io:expr, $stream:ident => $do:expr) => {
        match $io {
            Io::Plain(plain) => {
                let $stream = Pin::new(plain);
                $do
            }
            Io::Tls(tls) => {
                let $stream = Pin::new(tls);
                $do
            }
            Io::Foreign(foreign) => {
                let $stream = Pin::new(foreign);
                $do
            }
        }
    };
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), stream => stream.poll_read(cx, buf))
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self.get_mut(), stream => stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self.get_mut(), stream => stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
            Self::Foreign(foreign) => foreign.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), stream => stream.poll_shutdown(cx))
    }
}
