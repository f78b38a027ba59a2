//! The synchronous face that tungstenite's codec sees of an asynchronous stream: reads that would wait
//! become `WouldBlock`, writes go to our own buffer and never fail. Also the buffer from which batches
//! of frames are written, and the reading of a first chunk for a connection that owns no buffer.

use std::{
    cell::RefCell,
    io::{self, Read, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::boundary::Boundary;

/// How much an idle connection reads at once: a burst of some 70 short frames in one system call.
const CHUNK: usize = 16 * 1024;

/// What an empty write buffer may keep allocated, so that an idle connection stays small.
const KEEP: usize = 1024;

/// How much written data may lie in front of the unwritten before it is cut off.
const COMPACT_AT: usize = 64 * 1024;

/// What the codec reads from and writes to during one call.
pub(super) struct Adapter<'a, 'c, S> {
    pub(super) io: &'a mut S,
    /// Absent when the codec is called to write only.
    pub(super) cx: Option<&'a mut Context<'c>>,
    pub(super) boundary: &'a mut Boundary,
    pub(super) out: &'a mut Out,
}

impl<S: AsyncRead + Unpin> Read for Adapter<'_, '_, S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(cx) = self.cx.as_mut() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let mut buf = ReadBuf::new(buf);
        match Pin::new(&mut *self.io).poll_read(cx, &mut buf) {
            Poll::Ready(Ok(())) => {
                self.boundary.feed(buf.filled());
                Ok(buf.filled().len())
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl<S> Write for Adapter<'_, '_, S> {
    /// Only pongs and close frames come this way; data frames are queued by `Ws` itself.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.push(&[bytes]);
        self.out.replies += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

thread_local! {
    // One per worker thread instead of one per connection; it is only borrowed inside one poll.
    static SHARED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads what the peer sent, up to 16 KiB, and returns it with the capacity asked for.
pub(super) fn poll_chunk<S: AsyncRead + Unpin>(
    io: &mut S,
    cx: &mut Context<'_>,
    min_capacity: usize,
) -> Poll<io::Result<Vec<u8>>> {
    let mut shared = SHARED.take();
    shared.resize(CHUNK, 0);
    let mut buf = ReadBuf::new(&mut shared);
    let polled = Pin::new(io).poll_read(cx, &mut buf);
    let chunk = polled.map_ok(|()| {
        let mut chunk = Vec::with_capacity(buf.filled().len().max(min_capacity));
        chunk.extend_from_slice(buf.filled());
        chunk
    });
    SHARED.set(shared);
    chunk
}

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    written: usize,
    /// Whether the stream itself may still hold bytes back (TLS does).
    unflushed: bool,
    /// How many of the bytes are answers to pings and closes, which nobody but the peer asked for.
    pub(super) replies: usize,
}

impl Out {
    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Whether a flush has anything to do.
    pub(super) fn is_dirty(&self) -> bool {
        self.len() > 0 || self.unflushed
    }

    /// Appends one frame, given in parts, and returns where its first byte now stands.
    pub(super) fn push(&mut self, parts: &[&[u8]]) -> usize {
        if self.written > COMPACT_AT && self.written > self.len() {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        let start = self.bytes.len();
        self.bytes
            .reserve(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        start
    }

    /// Everything from a position that [`push`](Self::push) returned.
    pub(super) fn tail(&mut self, start: usize) -> &mut [u8] {
        &mut self.bytes[start..]
    }

    #[cfg(test)]
    pub(super) fn capacity_for_tests(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets everything: the stream is broken.
    pub(super) fn discard(&mut self) {
        *self = Self::default();
    }

    /// Writes as much as the stream takes; ready when all of it has left. `progressed` is set when
    /// any byte was written.
    pub(super) fn poll_write_out<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        progressed: &mut bool,
    ) -> Poll<io::Result<()>> {
        while self.len() > 0 {
            let count = ready!(Pin::new(&mut *io).poll_write(cx, &self.bytes[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
            self.unflushed = true;
            *progressed = true;
        }
        self.written = 0;
        self.replies = 0;
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
        if self.unflushed {
            ready!(Pin::new(io).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}
