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
pub(crate) struct Outgoing<B> {
    request: B,
    written: usize,
    step: Step,
    closes: bool,
    broken: Option<io::Error>,
}

/// Next step for our side of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Write,
    Flush,
    Close,
    Nothing,
}

impl<B: AsRef<[u8]>> Outgoing<B> {
    /// Creates a request of which nothing is written yet. `closes` says whether our side is closed after it.
    pub(crate) fn new(request: B, closes: bool) -> Self {
        Self {
            request,
            written: 0,
            step: Step::Write,
            closes,
            broken: None,
        }
    }

    /// Returns whether nothing is left to write, or writing failed.
    pub(crate) fn is_over(&self) -> bool {
        self.step == Step::Nothing
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
                Step::Write if rest.is_empty() => Poll::Ready(Ok(Step::Flush)),
                Step::Write => match stream.as_mut().poll_write(cx, rest) {
                    Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => {
                        self.written += written;
                        Poll::Ready(Ok(Step::Write))
                    }
                    other => other.map_ok(|_| Step::Write),
                },
                Step::Flush => stream
                    .as_mut()
                    .poll_flush(cx)
                    .map_ok(|()| match self.closes {
                        true => Step::Close,
                        false => Step::Nothing,
                    }),
                Step::Close => stream.as_mut().poll_close(cx).map_ok(|()| Step::Nothing),
                Step::Nothing => return has_moved,
            };
            match done {
                Poll::Ready(Ok(next)) => self.step = next,
                Poll::Ready(Err(error)) => {
                    self.broken = Some(error);
                    self.step = Step::Nothing;
                }
                Poll::Pending => return has_moved,
            }
            has_moved = true;
        }
    }
}
