//! Endless streams over HTTP/1.1, such as the events of a team. hyper reads the request and writes the head of
//! the response; then the connection takes the socket back and writes the body itself. The buffers and the state
//! of hyper, some 24 KiB, are not needed to wait for the next event.
//!
//! A handler asks for it with [`EndlessStream`] in the extensions of its response.

use std::{
    future::poll_fn,
    io::{self, IoSlice, Write as _},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use http::{HeaderMap, Method, StatusCode, Version, header, request::Parts};
use http_body::Frame;
use parking_lot::Mutex;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use crate::io::Io;

/// Bytes of a following request that are read while the stream lasts. More stay in the socket.
const READ_AHEAD: usize = 512;

/// Bytes of the line with the size of a chunk: hexadecimal digits and the line break.
const SIZE_LINE: usize = 18;

/// Chunks up to this size are copied into one piece. Most events are smaller, and to write one piece costs the
/// kernel less than to write three.
const SMALL_CHUNK: usize = 2 << 10;

/// Marks a response whose body sends data now and then, and has no end of its own.
#[derive(Debug, Clone, Copy)]
pub struct EndlessStream;

/// Returns whether the response to a request has chunks, so that its stream can leave hyper.
pub(super) fn has_chunks(request: &Parts) -> bool {
    request.version == Version::HTTP_11 && request.method == Method::GET
}

/// Returns whether the peer wants to close the connection after the response to a request.
pub(super) fn closes_connection(request: &HeaderMap) -> bool {
    let is_close = |value: &str| value.to_ascii_lowercase().contains("close");
    let mut values = request.get_all(header::CONNECTION).iter();
    values.any(|value| value.to_str().is_ok_and(is_close))
}

/// Hands the body of a response and its socket from hyper to the connection. Shared by the connection, its
/// request handler, and the socket and the body that hyper has.
#[derive(Debug, Default)]
pub(super) struct StreamHandover {
    body: Mutex<Option<Body>>,
    /// Whether hyper has asked for the body: the head of the response is in its buffer.
    is_begun: AtomicBool,
    /// Whether hyper has written all that was in its buffer.
    is_flushed: AtomicBool,
    /// Whether the peer wants to close the connection after the response.
    is_last: AtomicBool,
}

impl StreamHandover {
    pub(super) fn set_flushed(&self, is_flushed: bool) {
        self.is_flushed.store(is_flushed, Ordering::Relaxed);
    }

    /// Keeps the body of an endless stream, and leaves hyper with one that sends nothing. `is_last` says
    /// whether the peer wants to close the connection after the response.
    pub(super) fn offer(self: &Arc<Self>, response: Response, is_last: bool) -> Response {
        let is_endless = response.extensions().get::<EndlessStream>().is_some();
        if !is_endless || response.status() != StatusCode::OK {
            return response;
        }
        self.is_last.store(is_last, Ordering::Relaxed);
        self.is_begun.store(false, Ordering::Relaxed);
        self.set_flushed(false);
        response.map(|body| {
            *self.body.lock() = Some(body);
            Body::new(OfferedBody(self.clone()))
        })
    }

    /// Returns whether hyper has written the head of a stream, and has nothing more to write.
    pub(super) fn is_ready(&self) -> bool {
        self.is_begun.load(Ordering::Relaxed) && self.is_flushed.load(Ordering::Relaxed)
    }

    /// Returns the body that was offered, and whether the peer wants to close the connection after it.
    pub(super) fn take(&self) -> Option<(Body, bool)> {
        self.is_begun.store(false, Ordering::Relaxed);
        let body = self.body.lock().take()?;
        Some((body, self.is_last.load(Ordering::Relaxed)))
    }
}

/// The body that hyper has until the connection takes the socket back.
struct OfferedBody(Arc<StreamHandover>);

impl HttpBody for OfferedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection looks after every poll of hyper, so nobody must be woken.
        self.0.is_begun.store(true, Ordering::Relaxed);
        Poll::Pending
    }
}

impl Drop for OfferedBody {
    /// Drops the body with its response if hyper never asks for it.
    fn drop(&mut self) {
        self.0.body.lock().take();
    }
}

/// A stream that left hyper: the rest of a response with `transfer-encoding: chunked`.
pub(super) struct ChunkedStream {
    pub(super) io: Io,
    pub(super) body: Body,
    /// Bytes of the connection that were read before the end of the stream.
    pub(super) ahead: Bytes,
}

impl ChunkedStream {
    /// Writes the body to its end. Fails if the peer hangs up, or takes nothing for too long.
    pub(super) async fn run(&mut self) -> io::Result<()> {
        let mut chunk = None;
        poll_fn(|cx| self.poll_run(cx, &mut chunk)).await
    }

    fn poll_run(
        &mut self,
        cx: &mut Context<'_>,
        chunk: &mut Option<Chunk>,
    ) -> Poll<io::Result<()>> {
        // Notices a hang-up also while a write waits.
        if let Poll::Ready(error) = self.poll_hung_up(cx) {
            return Poll::Ready(Err(error));
        }
        loop {
            if let Some(unwritten) = chunk {
                ready!(unwritten.poll_write(&mut self.io, cx))?;
                if unwritten.is_last() {
                    return Pin::new(&mut self.io).poll_flush(cx);
                }
                *chunk = None;
            }
            let data = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(None) => Some(Bytes::new()),
                Poll::Ready(Some(Ok(frame))) => {
                    // An empty chunk would end the stream. Trailers do not occur.
                    frame.into_data().ok().filter(|data| !data.is_empty())
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(io::Error::other(error))),
                Poll::Pending => {
                    ready!(Pin::new(&mut self.io).poll_flush(cx))?;
                    return Poll::Pending;
                }
            };
            *chunk = data.map(|data| Chunk { data, written: 0 });
        }
    }

    /// Becomes ready when the connection ended. Keeps the beginning of a request that the peer sent early.
    fn poll_hung_up(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        while self.ahead.is_empty() {
            let mut read = [0; READ_AHEAD];
            let mut buf = ReadBuf::new(&mut read);
            match ready!(Pin::new(&mut self.io).poll_read(cx, &mut buf)) {
                Err(error) => return Poll::Ready(error),
                Ok(()) if buf.filled().is_empty() => {
                    return Poll::Ready(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(()) => self.ahead = Bytes::copy_from_slice(buf.filled()),
            }
        }
        Poll::Pending
    }
}

/// A chunk of the response. The last one has no data.
struct Chunk {
    data: Bytes,
    /// Bytes of the chunk that were written.
    written: usize,
}

impl Chunk {
    fn is_last(&self) -> bool {
        self.data.is_empty()
    }

    fn poll_write(&mut self, io: &mut Io, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut size = [0; SIZE_LINE];
            let mut rest = &mut size[..];
            write!(rest, "{:X}\r\n", self.data.len())?;
            let unused = rest.len();
            let parts = [&size[..SIZE_LINE - unused], &self.data, b"\r\n"];
            let length = parts.iter().map(|part| part.len()).sum::<usize>();
            if self.written == length {
                return Poll::Ready(Ok(()));
            }
            let io = Pin::new(&mut *io);
            let written = if length <= SMALL_CHUNK {
                let mut whole = [0; SMALL_CHUNK];
                let mut rest = &mut whole[..];
                for part in parts {
                    rest.write_all(part)?;
                }
                io.poll_write(cx, &whole[self.written..length])
            } else {
                let mut parts = parts.map(IoSlice::new);
                let mut parts = &mut parts[..];
                IoSlice::advance_slices(&mut parts, self.written);
                io.poll_write_vectored(cx, parts)
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
    }
}
