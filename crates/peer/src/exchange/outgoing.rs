//! A request that is written while the answer is already read, so that an early refusal of a large request is
//! received.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use libp2p::futures::AsyncWrite;

/// A request while it is written.
#[derive(Debug)]
pub(crate) struct OutgoingRequest<B> {
    request: B,
    written: usize,
    step: WriteStep,
    closes: bool,
    broken: Option<io::Error>,
}

/// Next step for our side of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteStep {
    Write,
    Flush,
    Close,
    Nothing,
}

impl<B: AsRef<[u8]>> OutgoingRequest<B> {
    /// Creates a request of which nothing is written yet. `closes` says whether our side is closed after it.
    pub(crate) fn new(request: B, closes: bool) -> Self {
        Self {
            request,
            written: 0,
            step: WriteStep::Write,
            closes,
            broken: None,
        }
    }

    /// Returns whether nothing is left to write, or writing failed.
    pub(crate) fn is_over(&self) -> bool {
        self.step == WriteStep::Nothing
    }

    /// Returns whether writing failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Takes the reason why writing failed. The peer may have answered before it stopped reading.
    pub(crate) fn take_trouble(&mut self) -> Option<io::Error> {
        self.broken.take()
    }

    /// Writes as much as possible now. Returns whether anything was written.
    pub(crate) fn poll<S>(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> bool
    where
        S: AsyncWrite + ?Sized,
    {
        let mut has_moved = false;
        loop {
            let rest = &self.request.as_ref()[self.written..];
            let done = match self.step {
                WriteStep::Write if rest.is_empty() => Poll::Ready(Ok(WriteStep::Flush)),
                WriteStep::Write => match stream.as_mut().poll_write(cx, rest) {
                    Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => {
                        self.written += written;
                        Poll::Ready(Ok(WriteStep::Write))
                    }
                    other => other.map_ok(|_| WriteStep::Write),
                },
                WriteStep::Flush => stream
                    .as_mut()
                    .poll_flush(cx)
                    .map_ok(|()| match self.closes {
                        true => WriteStep::Close,
                        false => WriteStep::Nothing,
                    }),
                WriteStep::Close => stream
                    .as_mut()
                    .poll_close(cx)
                    .map_ok(|()| WriteStep::Nothing),
                WriteStep::Nothing => return has_moved,
            };
            match done {
                Poll::Ready(Ok(next)) => self.step = next,
                Poll::Ready(Err(error)) => {
                    self.broken = Some(error);
                    self.step = WriteStep::Nothing;
                }
                Poll::Pending => return has_moved,
            }
            has_moved = true;
        }
    }
}
