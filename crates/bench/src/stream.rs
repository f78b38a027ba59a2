//! The byte stream of a client connection: TCP, with or without TLS.

use std::{
    io::{self, ErrorKind, Write},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// How long a thread without a runtime waits for a full socket.
const FULL: Duration = Duration::from_micros(200);

/// The byte stream of a client connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Writes everything. For a thread of its own: waits for a full socket by sleeping.
    pub(crate) fn write_blocking(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => Blocking(tcp).write_all(bytes),
            Self::Tls(tls) => {
                let (tcp, session) = tls.get_mut();
                session.writer().write_all(bytes)?;
                while session.wants_write() {
                    session.write_tls(&mut Blocking(tcp))?;
                }
                Ok(())
            }
        }
    }

    /// Reads what has arrived, without waiting.
    pub(crate) fn try_read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(bytes);
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(self).poll_read(&mut context, &mut buffer) {
            Poll::Ready(done) => done.map(|()| buffer.filled().len()),
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
        }
    }

    /// Waits until a read may return data. Returns at once with TLS, which may hold decrypted bytes.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.readable().await,
            Self::Tls(_) => Ok(()),
        }
    }
}

/// Writes to a socket of the runtime, and sleeps while the socket is full.
struct Blocking<'a>(&'a TcpStream);

impl Write for Blocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(FULL),
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
