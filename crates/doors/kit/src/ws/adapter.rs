//! The synchronous view of an asynchronous stream for the codec of tungstenite: a read that would wait
//! becomes `WouldBlock`, and writes go to our own buffer and never fail. This module also holds the write
//! buffer, and the function that reads from the stream.

use std::{
    cell::RefCell,
    io::{self, Read, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{boundary::FrameBoundary, whole::WholeFrames};

/// Bytes that are read at once: a burst of some 300 short frames in one system call. A peer that is not read
/// for a while can make its connection hold this much.
const CHUNK: usize = 64 * 1024;

/// Capacity that an empty write buffer may keep, so that an idle connection stays small.
const KEEP: usize = 1024;

/// Written bytes in front of the unwritten ones above which the buffer is compacted.
const COMPACT_AT: usize = 64 * 1024;

/// Source and destination of the codec during one call.
pub(super) struct CodecAdapter<'a, 'c, S> {
    pub(super) io: &'a mut S,
    /// `None` when the codec is called only for writing.
    pub(super) cx: Option<&'a mut Context<'c>>,
    pub(super) boundary: &'a mut FrameBoundary,
    pub(super) whole: &'a mut WholeFrames,
    pub(super) out: &'a mut WriteBuffer,
}

impl<S: AsyncRead + Unpin> Read for CodecAdapter<'_, '_, S> {
    /// Returns bytes of the current frame only, so that the frames after it are still read the short way.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.whole.is_empty() {
            let Some(cx) = self.cx.as_mut() else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            match poll_fill(self.io, cx, self.whole) {
                Poll::Ready(Ok(0)) => return Ok(0),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
            }
        }
        let count = self.whole.take(buf, self.boundary.wanted());
        self.boundary.feed(&buf[..count]);
        Ok(count)
    }
}

impl<S> Write for CodecAdapter<'_, '_, S> {
    /// Receives only pongs and close frames; [`Ws`](super::Ws) queues data frames itself.
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
    // One buffer per worker thread instead of one per connection, borrowed only within one poll.
    static SHARED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads the available data of the peer, up to 64 KiB, and returns the number of bytes; 0 at the end.
pub(super) fn poll_fill<S: AsyncRead + Unpin>(
    io: &mut S,
    cx: &mut Context<'_>,
    whole: &mut WholeFrames,
) -> Poll<io::Result<usize>> {
    let mut shared = SHARED.take();
    shared.resize(CHUNK, 0);
    let mut buf = ReadBuf::new(&mut shared);
    let polled = Pin::new(io).poll_read(cx, &mut buf);
    let read = polled.map_ok(|()| {
        whole.feed(buf.filled());
        buf.filled().len()
    });
    SHARED.set(shared);
    read
}

/// Frames waiting to be written.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
    /// Whether the stream itself may still hold bytes back, as TLS does.
    unflushed: bool,
    /// Bytes that answer pings and closes, queued at the request of the peer alone.
    pub(super) replies: usize,
}

impl WriteBuffer {
    /// Returns the number of waiting bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Returns whether a flush has work to do.
    pub(super) fn is_dirty(&self) -> bool {
        self.len() > 0 || self.unflushed
    }

    /// Appends one frame, given in parts, and returns the position of its first byte.
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

    /// Returns the bytes from a position that [`push`](Self::push) returned.
    pub(super) fn tail(&mut self, start: usize) -> &mut [u8] {
        &mut self.bytes[start..]
    }

    #[cfg(test)]
    pub(super) fn capacity_for_tests(&self) -> usize {
        self.bytes.capacity()
    }

    /// Discards all bytes: the stream is broken.
    pub(super) fn discard(&mut self) {
        *self = Self::default();
    }

    /// Writes as much as the stream takes; ready when all bytes have left. Sets `progressed` when any byte
    /// was written.
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
